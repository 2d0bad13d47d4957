#!/usr/bin/env escript
%% Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
main([Port | Others]) ->
    Options = [binary, {active, false}, {nodelay, Others =/= []}],
    {ok, End} = gen_tcp:connect("127.0.0.1", list_to_integer(Port), Options),
    lists:foreach(fun(_) -> ask(End) end, lists:seq(1, 20)).

ask(End) ->
    Began = erlang:monotonic_time(microsecond),
    ok = gen_tcp:send(End, binary:copy(<<"h">>, 40)),
    ok = gen_tcp:send(End, binary:copy(<<"b">>, 400)),
    {ok, _} = gen_tcp:recv(End, 2),
    io:format("~p~n", [(erlang:monotonic_time(microsecond) - Began) / 1000]).
