(* Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange. *)
let () =
  let socket = Unix.socket Unix.PF_INET Unix.SOCK_STREAM 0 in
  let address = Unix.inet_addr_of_string "127.0.0.1" in
  Unix.connect socket (Unix.ADDR_INET (address, int_of_string Sys.argv.(1)));
  Unix.setsockopt socket Unix.TCP_NODELAY (Array.length Sys.argv > 2);
  let answer = Bytes.create 2 in
  for _ = 1 to 20 do
    let began = Unix.gettimeofday () in
    ignore (Unix.write_substring socket (String.make 40 'h') 0 40);
    ignore (Unix.write_substring socket (String.make 400 'b') 0 400);
    if Unix.read socket answer 0 2 = 0 then exit 1;
    Printf.printf "%f\n" ((Unix.gettimeofday () -. began) *. 1000.)
  done
