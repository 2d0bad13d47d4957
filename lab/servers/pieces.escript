#!/usr/bin/env escript
%% Erlang's gen_tcp, a process for each connection: an answer in four sends.
main([Port]) ->
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port), [binary, {active, false}, {reuseaddr, true}, {backlog, 64}]),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    gen_tcp:controlling_process(Socket, spawn(fun() -> serve(Socket) end)),
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, _} ->
            ok = gen_tcp:send(Socket, "HTTP/1.1 200 OK\r\n"),
            ok = gen_tcp:send(Socket, "Content-Length: 80\r\n\r\n"),
            ok = gen_tcp:send(Socket, binary:copy(<<"x">>, 40)),
            ok = gen_tcp:send(Socket, binary:copy(<<"x">>, 40)),
            serve(Socket);
        {error, _} -> ok
    end.
