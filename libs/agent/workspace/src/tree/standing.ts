import type { Results } from '../stores/results.ts';
import { readBase } from './context-folder.ts';

/** Where a context stands. */
export interface Standing {
  /** False when the tree has to be set up. */
  readonly begun: boolean;
  /** The commit of the base that the context started from. */
  readonly from: string;
  /** The last commit that the gateway has taken over. */
  readonly tip: string;
}

/** Finds where a context stands. A new one starts. */
export async function standing(options: {
  readonly name: string;
  readonly dir: string;
  readonly results: Pick<Results, 'refs'>;
  start(): Promise<string>;
}): Promise<Standing> {
  const { dir, name, results, start } = options;
  const [begun, refs] = await Promise.all([readBase(dir), results.refs(name)]);
  const from = begun ?? refs.base ?? (await start());
  return { begun: begun !== undefined, from, tip: refs.tip ?? from };
}
