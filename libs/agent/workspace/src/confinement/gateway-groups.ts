/** Adds a group to this process's own. Throws EPERM without the capability SETGID. Root joins nothing: it reads everything. */
export function joinGroup(gid: number): void {
  const groups = own();
  if (!isRoot() && !groups.includes(gid)) process.setgroups?.([...groups, gid]);
}

export function leaveGroup(gid: number): void {
  const groups = own();
  if (!isRoot() && groups.includes(gid)) process.setgroups?.(groups.filter((group) => group !== gid));
}

const own = (): number[] => process.getgroups?.() ?? [];

const isRoot = (): boolean => process.getuid?.() === 0;
