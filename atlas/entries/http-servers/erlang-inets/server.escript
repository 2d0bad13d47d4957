%% inets' httpd with one file.
main([Port, Scratch]) ->
    ok = file:write_file(filename:join(Scratch, "page.html"), lists:duplicate(400, $x)),
    {ok, _} = application:ensure_all_started(inets),
    {ok, _} = inets:start(httpd, [{port, list_to_integer(Port)}, {server_name, "atlas"}, {server_root, Scratch},
                                  {document_root, Scratch}, {max_keep_alive_request, 1000000}]),
    timer:sleep(infinity).
