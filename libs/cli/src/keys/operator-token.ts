import { keyPaths } from './layout.ts';
import { readSecret } from './secret-file.ts';

/** The operator's token; undefined when there are no keys. */
export function readOperatorToken(dir: string): string | undefined {
  return readSecret(keyPaths(dir).operatorToken);
}
