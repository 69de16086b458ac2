import { shell, tool } from './agent-work.ts';

/**
 * A brief that leaves a secret wherever a task can, then searches everything that it can reach for its own and for another
 * one, and asks NATS for all messages.
 */
export function searching(own: string, theirs: string, natsPort: number): string {
  // The expression does not match itself.
  const pattern = (secret: string): string => `${secret.slice(0, -1)}[${secret.slice(-1)}]`;
  const plant = `echo began $(date +%s%N); echo ${own} > secret.txt; git add -A; git commit -qm ${own}
    for d in /tmp "$TMPDIR" "$HOME" /dev/shm /var/tmp .scratch; do mkdir -p $d; cp secret.txt $d/${own}; done
    SECRET=${own} sh -c 'sleep 8' ${own} & sleep 4
    look() { { grep -rsa "$1" /tmp /var/tmp /dev/shm /home /root /run /mnt /srv "$HOME" "$TMPDIR" ../../.. ;
      for f in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/fd/*; do
        case $f in */fd/[012]) ;; *) timeout 1 head -c 100000 "$f" ;; esac; done;
      git cat-file --batch-all-objects --batch; cat /proc/net/unix; ipcs -a; } 2>/dev/null | grep -a "$1" >/dev/null && echo "found: $2"; }
    echo "NATS says: $(node -e '${READ_NATS}' ${natsPort})"
    look '${pattern(own)}' own; look '${pattern(theirs)}' theirs; wait; echo ended $(date +%s%N)`;
  const search = { path: '.', pattern: `**/${theirs.slice(0, 4)}*` };
  const note = { name: own, content: own };
  return [
    tool('scratchpad_write', note),
    shell(plant),
    tool('mcp__filesystem__search_files', search),
    tool('scratchpad_list', {}),
  ].join('\n\n');
}

/** Subscribes to all subjects without a login, and prints the answer of the server. */
const READ_NATS = `
  const socket = require("node:net").connect(Number(process.argv[1]), "127.0.0.1");
  let text = "";
  socket.on("data", (data) => { text += data; });
  socket.on("close", () => { console.log(text.replace(/\\s+/g, " ").slice(-300)); });
  socket.setTimeout(5000, () => socket.destroy());
  socket.write("CONNECT {}\\r\\nSUB > 1\\r\\nPING\\r\\n");`;
