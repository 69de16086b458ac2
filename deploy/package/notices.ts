import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { licenseOf } from './licenses.ts';
import type { LockedPackage } from './lock.ts';

const manifest = z.object({
  version: z.string(),
  author: z.union([z.string(), z.object({ name: z.string() }).transform(({ name }) => name)]).optional(),
});

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

const RULE = '-'.repeat(80);

/**
 * THIRD-PARTY-NOTICES: name, version, licence and its text of each package that is in the bundle. Throws where a package is
 * installed in another version than the lock file has, and where it comes without the text of a licence that needs its own.
 */
export function thirdPartyNotices(root: string, packages: readonly LockedPackage[]): string {
  const parts = packages.map(
    (each) => `${RULE}\n${each.name} ${each.version} (${licenseOf(each)})\n\n${text(root, each)}\n`,
  );
  return `Hermes Fleet contains these packages of others, with these licences.\n\n${parts.join('\n')}`;
}

function text(root: string, locked: LockedPackage): string {
  const folder = join(root, locked.path);
  const { version, author } = manifest.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  if (version !== locked.version)
    throw new Error(`${locked.path} is ${version}, and package-lock.json has ${locked.version}: run npm ci`);
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)/i.test(name));
  if (files.length > 0)
    return files
      .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim())
      .join('\n\n');
  const license = licenseOf(locked);
  if (license === 'Apache-2.0') return 'Its text is in the file LICENSE.';
  if (license === 'MIT' && author !== undefined) return `Copyright (c) ${author}\n\n${MIT}`;
  throw new Error(`${locked.path} has no file with the text of its licence, ${license}`);
}
