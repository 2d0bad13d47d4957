## std/httpclient as its documentation shows it: one client, whose connection is kept.
import std/[httpclient, monotimes, os, strformat, strutils, times]

let
  url = "http://" & paramStr(1) & ":" & paramStr(2) & "/"
  exchanges = parseInt(paramStr(3))
  isPost = paramStr(4) == "POST"
  body = 'x'.repeat(400)
  client = newHttpClient()
var number = 0
while exchanges == 0 or number < exchanges:
  inc number
  let
    began = epochTime()
    clock = getMonoTime()
  if isPost: discard client.postContent(url, body)
  else: discard client.getContent(url)
  echo &"{began:.6f} {float((getMonoTime() - clock).inNanoseconds) / 1e6:.3f}"
  stdout.flushFile()
echo "done"
stdout.flushFile()
try:
  while true: discard stdin.readLine()
except EOFError: discard
