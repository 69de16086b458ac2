import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { asset } from '@hermes-fleet/installation';
import { CONSOLE_STATES, TASK_EVENTS } from '@hermes-fleet/protocol';

/** One file that the console serves, as it is sent. */
export interface StaticFile {
  /** The path of its address: `/`, `/assets/…` or `/vendor/…`. */
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
  /** A strong validator, with its quotes (RFC 9110, section 8.8.3). */
  readonly etag: string;
  /** True if the content of this address never changes: the address holds the version of the package. */
  readonly immutable: boolean;
}

/** The policy of the page: scripts and styles come from the console alone, and none is inline. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The files of packages that the page loads. index.html pins the integrity of each. */
export const VENDOR: readonly { readonly package: string; readonly file: string }[] = [
  { package: 'preact', file: 'dist/preact.mjs' },
  { package: 'preact', file: 'hooks/dist/hooks.mjs' },
  { package: 'htm', file: 'dist/htm.mjs' },
  { package: 'uplot', file: 'dist/uPlot.esm.js' },
  { package: 'uplot', file: 'dist/uPlot.min.css' },
];

/** The tables of a task's lifecycle that the page shows, as a module. */
const LIFECYCLE = Object.entries({ CONSOLE_STATES, TASK_EVENTS })
  .map(([name, table]) => `export const ${name} = ${JSON.stringify(table)};\n`)
  .join('');

/**
 * Reads every file of the page: index.html at `/`, `assets/` and the files of packages. They stay in memory, about half a
 * megabyte, and nothing else on the disk can be asked for.
 */
export function readStaticFiles(): readonly StaticFile[] {
  const root = asset('console-page');
  const own = globSync('assets/**/*.{js,css,svg}', { cwd: root })
    .sort()
    .map((file) => staticFile(`/${file}`, readFileSync(join(root, file)), false));
  return [
    staticFile('/', readFileSync(join(root, 'index.html')), false, '.html'),
    ...own,
    staticFile('/assets/lib/task-states-and-events.js', Buffer.from(LIFECYCLE), false),
    ...readVendorFiles(),
  ];
}

function readVendorFiles(): StaticFile[] {
  return VENDOR.map(({ package: name, file }) => {
    const folder = join(asset('vendor'), name);
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    const path = `/vendor/${name}@${version}/${file}`;
    return staticFile(path, resolveImports(readFileSync(join(folder, file))), true);
  });
}

/**
 * A browser resolves the name of a package only by an import map, which is an inline script, and the policy forbids those.
 * The hooks of preact import `preact`; they get its address instead.
 */
function resolveImports(body: Buffer): Buffer {
  const text = body.toString('utf8');
  return text.includes('from"preact"')
    ? Buffer.from(text.replaceAll('from"preact"', 'from"../../dist/preact.mjs"'))
    : body;
}

function staticFile(path: string, body: Buffer, immutable: boolean, extension = extname(path)): StaticFile {
  const type = TYPES[extension];
  if (type === undefined) throw new Error(`${path} has no media type: add it to TYPES`);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { path, type, body, etag, immutable };
}
