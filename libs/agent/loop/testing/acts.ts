import { type Act, edit } from './guarded.ts';

export const times = (count: number, act: (at: number) => Act): Act[] =>
  Array.from({ length: count }, (_, at) => act(at));

export const replaces = (path: string, before: string, after: string): Act => ({
  ...edit(path),
  call: { tool: 'edit_file', input: { path, old_text: before, new_text: after }, mutates: true },
});

/** Edits of other places each. */
export const edits = (count: number, path = 'a.ts'): Act[] =>
  times(count, (at) => replaces(path, `const v${at} = old(${at});`, `const v${at} = fresh(${at});`));

/** One place, rewritten again and again. */
export const rewrites = (count: number, path = 'a.ts'): Act[] =>
  times(count, (at) => replaces(path, `title = 'Draft ${at}'`, `title = 'Draft ${at + 1}'`));

/** Two files in turn, one place of each. */
export const inTurn = (count: number): Act[] => {
  const both = [rewrites(count, 'a.ts'), rewrites(count, 'b.ts')];
  return times(count, (at) => both[at % 2]?.[Math.floor(at / 2)] ?? edit('a.ts'));
};

/** The ends of a run among what guards have told. */
export const stops = (told: readonly string[]): string[] => told.filter((line) => line.startsWith('stop: '));
