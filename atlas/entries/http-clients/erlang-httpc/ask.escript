%% httpc, which keeps its connections.
main([Address, Port, Exchanges, Method]) ->
    {ok, _} = application:ensure_all_started(inets),
    Url = "http://" ++ Address ++ ":" ++ Port ++ "/",
    ask(Url, Method, list_to_integer(Exchanges), 0),
    io:format("done~n"),
    io:get_line("").

ask(_, _, Exchanges, Exchanges) when Exchanges > 0 -> ok;
ask(Url, Method, Exchanges, Number) ->
    Began = erlang:monotonic_time(microsecond),
    Wall = erlang:system_time(microsecond) / 1.0e6,
    {ok, {{_, 200, _}, _, _}} = case Method of
        "POST" -> httpc:request(post, {Url, [], "text/plain", lists:duplicate(400, $x)}, [], []);
        "GET" -> httpc:request(get, {Url, []}, [], [])
    end,
    io:format("~.6f ~.3f~n", [Wall, (erlang:monotonic_time(microsecond) - Began) / 1000]),
    ask(Url, Method, Exchanges, Number + 1).
