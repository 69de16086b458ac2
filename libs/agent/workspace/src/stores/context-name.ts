import { createHash } from 'node:crypto';

const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/**
 * The directory and branch name of a context: the id itself when it is short and plain, else a hash of it. Two ids
 * never share a name: an id that looks like a hash is hashed too.
 */
export function contextName(contextId: string): string {
  const plain =
    PLAIN.test(contextId) &&
    !contextId.includes('..') &&
    !/(\.lock|\.|\.git)$/i.test(contextId) &&
    !/^h-/.test(contextId);
  return plain ? contextId : `h-${createHash('sha256').update(contextId).digest('hex').slice(0, 40)}`;
}
