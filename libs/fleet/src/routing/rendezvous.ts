/**
 * Rendezvous weight of a peer for a task: the peer with the greatest weight takes it, so equal peers share evenly and
 * one that leaves moves only its own share. FNV-1a with murmur's finaliser: not cryptographic, 1,000 peers in well
 * under a millisecond.
 */
export function rendezvousWeight(taskId: string, peer: string): number {
  let hash = 0x811c9dc5;
  const text = `${taskId}\n${peer}`;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
