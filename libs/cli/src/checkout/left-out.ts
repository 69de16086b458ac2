import { eachName } from '../git/git.ts';
import type { Checkout } from './open-checkout.ts';

const MOST_NAMED = 5;
const SUBMODULE = /^160000 commit [0-9a-f]+\t/;

/** Lines that say which files of a checkout are not in a commit of it. Those that git ignores are not meant. */
export async function leftOut({ git, tree, head }: Checkout, commit: string): Promise<string[]> {
  const lines: string[] = [];
  if (tree !== undefined) {
    const [uncommitted, largeFiles] = [counter(), counter()];
    await eachName(git, UNCOMMITTED, uncommitted.count);
    const one = uncommitted.found() === 1;
    // Another commit than that of HEAD has the changes.
    if (uncommitted.found() > 0 && commit === head)
      lines.push(
        `${filesOf(uncommitted.found())} not committed ${one ? 'is' : 'are'} not sent; --include-changes sends ${one ? 'it' : 'them'}`,
      );
    await eachName(git, ['ls-files', '-z', '--', ':(attr:filter=lfs)'], largeFiles.count);
    if (largeFiles.found() > 0)
      lines.push(`of ${filesOf(largeFiles.found())} in Git LFS, only the pointer is sent`);
  }
  const submodules: string[] = [];
  await eachName(git, ['ls-tree', '-r', '-z', '--full-tree', commit], (entry) => {
    if (SUBMODULE.test(entry)) submodules.push(entry.replace(SUBMODULE, ''));
  });
  if (submodules.length > 0) {
    const named = submodules.slice(0, MOST_NAMED).join(', ');
    lines.push(
      `the files of submodules are not sent: ${named}${submodules.length > MOST_NAMED ? ', …' : ''}`,
    );
  }
  return lines;
}

/** A renamed file is two, as it is for who has not committed it. */
const UNCOMMITTED = [
  ...['status', '--porcelain=v2', '-z', '--untracked-files=all', '--no-renames'],
  '--ignore-submodules=dirty',
];

function counter() {
  let found = 0;
  return {
    count: () => {
      found += 1;
    },
    found: () => found,
  };
}

const filesOf = (count: number): string => `${count} file${count === 1 ? '' : 's'}`;
