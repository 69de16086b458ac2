import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockFolder } from '../src/local/folder-lock.ts';

/** Holds the lock of a folder until it is killed: `lock-holder.ts <folder>`. Takes it `<rounds>` times with a second argument. */
const [dir = '', rounds] = process.argv.slice(2);
if (rounds === undefined) {
  try {
    const lock = lockFolder(dir, 'fleet up');
    process.stdout.write('held\n');
    setInterval(() => lock, 1_000);
  } catch (error) {
    process.stdout.write(`${error instanceof Error ? error.message : error}\n`);
  }
} else {
  let held = 0;
  const inside = join(dir, '..', 'inside');
  while (held < Number(rounds)) {
    try {
      using _ = lockFolder(dir, 'fleet up');
      // Fails if another one is inside.
      writeFileSync(inside, '', { flag: 'wx' });
      rmSync(inside);
      held += 1;
    } catch (error) {
      if (!(error instanceof Error && /is at work on/.test(error.message))) throw error;
    }
  }
  process.stdout.write('done\n');
}
