import { accessSync, constants, statSync } from 'node:fs';
import { hasCode } from '@hermes-fleet/workspace';

/** Says why a file does not keep its secret for the gateway alone, and what to do; undefined when it does. */
export function secretFileProblem(
  file: string,
  secret: { readonly name: string; readonly content: string; readonly make: string },
): string | undefined {
  try {
    const stats = statSync(file);
    if (!stats.isFile()) return `${file} is not a file; name ${secret.name}`;
    accessSync(file, constants.R_OK);
    if (stats.uid !== process.getuid?.())
      return `${file} belongs to another user (uid ${stats.uid}); give it to the gateway's user: chown`;
    if ((stats.mode & 0o077) === 0) return undefined;
    return `other users may use ${file}; give ${secret.content} to the gateway alone: chmod 600`;
  } catch (cause) {
    if (hasCode(cause, 'ENOENT', 'ENOTDIR')) return `${file} does not exist; ${secret.make}`;
    if (hasCode(cause, 'EACCES')) return `the gateway's user cannot read ${file}; give it the file: chown`;
    throw cause;
  }
}
