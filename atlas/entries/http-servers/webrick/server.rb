# mount_proc; /streamed has a body that is called, in four pieces.
require 'webrick'
server = WEBrick::HTTPServer.new(Port: ARGV[0].to_i, AccessLog: [], Logger: WEBrick::Log.new(File::NULL))
server.mount_proc('/') do |request, response|
  response['Content-Type'] = 'text/plain'
  if request.path == '/whole'
    response.body = 'x' * 400
  else
    response.chunked = true
    response.body = proc { |out| 4.times { out << 'x' * 100 } }
  end
end
server.start
