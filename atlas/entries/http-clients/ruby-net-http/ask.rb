# Net::HTTP.start: one connection for all requests.
require 'net/http'
address, port, exchanges, method = ARGV
$stdout.sync = true
Net::HTTP.start(address, port.to_i) do |http|
  number = 0
  while exchanges == '0' || number < exchanges.to_i
    number += 1
    began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    wall = Time.now.to_f
    method == 'POST' ? http.post('/', 'x' * 400) : http.get('/')
    puts "#{wall} #{(Process.clock_gettime(Process::CLOCK_MONOTONIC) - began) * 1000}"
  end
  puts 'done'
  $stdin.read
end
