import { execFileSync } from 'node:child_process';
import type { Checkout } from './checkout.ts';

const NOW = '1000000000 +0000';
const GOOD = `Ann <ann@acme.example> ${NOW}`;

/** People as old programs wrote them: git writes none of these any more, and refuses them under its rules for new objects. */
const PEOPLE = [
  `Ann ${NOW}`,
  `Ann <> ${NOW}`,
  `Ann<ann@acme.example> ${NOW}`,
  `Ann <ann@acme.example>${NOW}`,
  `Ann <ann <ann@acme.example>> ${NOW}`,
  'Ann <ann@acme.example> 1000000000 +051800',
  'Ann <ann@acme.example> -1000 +0000',
  'Ann <ann@acme.example> 01000000000 +0000',
  'Ann <ann@acme.example> 18446744073709551616 +0000',
];

/** Makes a history in a checkout with what git took in earlier times, with the file `d/e/a.txt` in the last commit, and returns that. */
export function makeOldHistory({ dir, git, commit }: Checkout): string {
  const object = (type: string, content: Buffer | string): string =>
    execFileSync('git', ['-C', dir, 'hash-object', '-t', type, '-w', '--stdin', '--literally'], {
      input: content,
      encoding: 'utf8',
    }).trim();
  const treeOf = (...entries: readonly [mode: string, name: string, id: string][]): string =>
    object(
      'tree',
      Buffer.concat(
        entries.flatMap(([mode, name, id]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]),
      ),
    );
  commit({ 'e/a.txt': 'a\n' });
  const file = git('rev-parse', 'HEAD:e/a.txt');
  const inner = treeOf(['040000', 'e', git('rev-parse', 'HEAD:e')]);
  const padded = treeOf(['100664', 'b.txt', file], ['040000', 'd', inner]);
  const modules = object('blob', '[submodule "a"]\n\tpath = a\n\turl = -a\n');
  const histories: [tree: string, person: string, message: string][] = [
    [treeOf(['100644', '.gitmodules', modules]), GOOD, 'A disallowed URL'],
    [padded, GOOD, 'A byte\0that is none'],
    ...PEOPLE.map((person): [string, string, string] => [padded, person, 'A person']),
  ];
  let tip = git('rev-parse', 'HEAD');
  for (const [tree, person, message] of histories)
    tip = object(
      'commit',
      `tree ${tree}\nparent ${tip}\nauthor ${person}\ncommitter ${person}\n\n${message}\n`,
    );
  return tip;
}
