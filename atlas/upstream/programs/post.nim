## Posts with std/httpclient over kept connections: HOST PORT CONNECTIONS EXCHANGES OCTETS. Writes the times as ask.py does.
import std/[asyncdispatch, httpclient, json, monotimes, os, strutils, times]

var micros: seq[float]

proc exchangeAll(url, body: string, exchanges: int) {.async.} =
  let client = newAsyncHttpClient()
  for number in 0 .. exchanges:
    let began = getMonoTime()
    discard await client.postContent(url, body)
    if number > 0:
      micros.add(float((getMonoTime() - began).inNanoseconds) / 1000)

let
  url = "http://" & paramStr(1) & ":" & paramStr(2) & "/"
  body = 'x'.repeat(parseInt(paramStr(5)))
  began = getMonoTime()
var all: seq[Future[void]]
for _ in 1 .. parseInt(paramStr(3)):
  all.add(exchangeAll(url, body, parseInt(paramStr(4))))
for one in all: waitFor one
echo %*{"micros": micros, "seconds": float((getMonoTime() - began).inNanoseconds) / 1e9}
