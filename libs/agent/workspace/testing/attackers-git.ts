import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A repository that borrows from the base, with tools to write objects and packs of any kind. */
export function attackersGit(dir: string, objects: string) {
  mkdirSync(dir);
  const run = (args: readonly string[], input: string | Buffer = ''): Buffer =>
    execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@localhost', '-C', dir, ...args], {
      input,
      maxBuffer: 1e8,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  run(['init', '-q']);
  writeFileSync(join(dir, '.git/objects/info/alternates'), `${objects}\n`);
  const text = (args: readonly string[], input?: string | Buffer): string =>
    run(args, input).toString().trim();
  const blob = (content: string): string => text(['hash-object', '-w', '--stdin'], content);
  /** A tree with entries that git's own commands would refuse. */
  const tree = (entries: readonly (readonly [mode: string, name: string, id: string])[]): string =>
    text(
      ['hash-object', '-w', '--stdin', '-t', 'tree', '--literally'],
      Buffer.concat(
        entries.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
      ),
    );
  const commit = (id: string, parent: string): string =>
    text(
      ['hash-object', '-w', '--stdin', '-t', 'commit', '--literally'],
      `tree ${id}\nparent ${parent}\nauthor x <x@y> 1 +0000\ncommitter x <x@y> 1 +0000\n\nx\n`,
    );
  const pack = (ids: readonly string[]): Buffer => run(['pack-objects', '--stdout', '-q'], ids.join('\n'));
  return { blob, tree, commit, pack };
}
