# Healthy when HEALTH_PATH of this container's service, /ready by default, answers 2xx on HEALTH_PORT. Prints the answer.
# Bash asks, because each container is asked every few seconds: Node takes more than ten times the CPU, and too long on a
# busy machine. A service whose fleet.yaml has TLS answers 400 to plain HTTP: then healthcheck.mjs asks over https.
set -u
# A service that closes the connection first must not end this script without a word.
trap '' PIPE
exec 3<>"/dev/tcp/127.0.0.1/$HEALTH_PORT" || exit 1
printf 'GET %s HTTP/1.0\r\nHost: 127.0.0.1:%s\r\n\r\n' "${HEALTH_PATH:-/ready}" "$HEALTH_PORT" >&3 2>/dev/null
if ! read -r -t 10 _ status _ <&3; then
  printf 'no answer on port %s' "$HEALTH_PORT"
  exit 1
fi
case $status in
  2??) healthy=0 ;;
  400) exec node "${BASH_SOURCE[0]%.sh}.mjs" ;;
  *) healthy=1 ;;
esac
while read -r -t 5 line <&3 && [ "$line" != $'\r' ]; do :; done
IFS= read -r -t 5 -d '' -N 1000 body <&3
printf '%s %s' "$status" "$body"
exit "$healthy"
