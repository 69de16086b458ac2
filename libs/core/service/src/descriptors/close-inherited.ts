import { closeSync, readdirSync, readFileSync } from 'node:fs';

const FIRST_AFTER_STDERR = 3;
/** The kernel's number on x64 and arm64. */
const O_CLOEXEC = 0o2000000;
/** A file that the caller hands over by its descriptor, as `<(command)` of a shell does. */
const GIVEN = /\/(?:dev|proc\/self)\/fd\/(\d+)$/;

/**
 * Closes every descriptor from 3 on that this process inherited, so that no command that it starts can reach what its starter had
 * open. Those that an argument names by `/dev/fd/N`, and the channel of a parent in Node, stay. Call it before anything is opened:
 * it knows inherited descriptors by the missing O_CLOEXEC, which all of Node's own have. Does nothing without /proc.
 */
export function closeInheritedDescriptors(argv: readonly string[]): void {
  const given = new Set(argv.map((argument) => Number(GIVEN.exec(argument)?.[1])));
  for (const descriptor of openDescriptors()) {
    if (descriptor < FIRST_AFTER_STDERR || given.has(descriptor) || descriptor === channel()) continue;
    if (isInherited(descriptor)) closeSync(descriptor);
  }
}

/** Node's types do not have the number. */
function channel(): unknown {
  const { channel: found } = process;
  return found && 'fd' in found ? found.fd : undefined;
}

function openDescriptors(): number[] {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

/** False also for the descriptor that the list was read with, which is closed. */
function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
