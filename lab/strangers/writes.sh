# Asks in two writes: 40 octets and 400. Prints the milliseconds of each exchange.
exec 3<> "/dev/tcp/127.0.0.1/$1"
for _ in {1..20}; do
  began=${EPOCHREALTIME/./}
  printf %040d 0 >&3
  printf %0400d 0 >&3
  read -r -u 3 || exit 1
  took=$((${EPOCHREALTIME/./} - began))
  printf '%d.%03d\n' $((took / 1000)) $((took % 1000))
done
