import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '@hermes-fleet/protocol/testing';

/** Prints the temporary files that SQLite has open while an owner of `dir` sorts much, and while it rewrites its file. */
const OWNER = `
  import { readdirSync, readlinkSync } from 'node:fs';
  import { acquireOwnership, openConnections } from '${join(import.meta.dirname, 'index.ts')}';
  import { rewriteFile } from '${join(import.meta.dirname, 'rewrite.ts')}';
  const [dir] = process.argv.slice(1);
  using owner = acquireOwnership({ dir, profile: 'neo' });
  const schema = { name: 'large', applicationId: 1, migrations: ['CREATE TABLE t (a TEXT)'] };
  const { writer } = openConnections(dir + '/large.db', schema, () => 'id');
  const insert = writer.prepare('INSERT INTO t VALUES (?)');
  writer.exec('BEGIN');
  for (let i = 0; i < 20000; i += 1) insert.run(i + 'x'.repeat(1000));
  writer.exec('COMMIT');
  const links = () => readdirSync('/proc/self/fd').map((fd) => { try { return readlinkSync('/proc/self/fd/' + fd) } catch { return '' } });
  const open = () => links().filter((path) => path.includes('etilqs_'));
  const sorting = [];
  for (const row of writer.prepare('SELECT a FROM t ORDER BY a DESC').iterate()) {
    sorting.push(...open());
    break;
  }
  const rewriting = new Set();
  writer.setAuthorizer(() => { for (const path of open()) rewriting.add(path); return 0; });
  rewriteFile(writer, 'large');
  const after = writer.prepare('PRAGMA temp_store').get().temp_store;
  console.log(JSON.stringify({ sorting, rewriting: [...rewriting], after }));`;

async function opened(
  dir: string,
  env: Record<string, string>,
): Promise<{ sorting: string[]; rewriting: string[]; after: number }> {
  const args = ['--no-warnings', '--input-type=module', '-e', OWNER, dir];
  return JSON.parse((await promisify(execFile)(process.execPath, args, { env })).stdout);
}

test('a rewrite has its temporary file below the state, and not where commands can fill the disk; a sort has none', async (t) => {
  const dir = tempDir(t);
  const { sorting, rewriting, after } = await opened(dir, {});
  assert.deepEqual([sorting, rewriting.length, after], [[], 1, 2]);
  assert.ok(rewriting[0]?.startsWith(join(dir, 'tmp/etilqs_')), rewriting[0]);
});

test('a folder for temporary files that the operator chose stays', async (t) => {
  const chosen = tempDir(t);
  const { rewriting } = await opened(tempDir(t), { SQLITE_TMPDIR: chosen });
  assert.ok(rewriting[0]?.startsWith(`${chosen}/etilqs_`), rewriting[0]);
});
