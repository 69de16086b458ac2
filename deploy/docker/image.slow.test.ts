import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { withoutEngine } from '../../test/support/engine.ts';
import { docker } from '../../test/support/profile-container.ts';

const BUILD_MS = 280_000;
const FROM_SOURCES = 'hermes-fleet:image-test';
const FROM_PACKAGE = 'hermes-fleet:image-test-package';

function build(t: TestContext, tag: string, context: string, ...options: string[]): void {
  t.after(() => docker(['image', 'rm', tag]));
  const base = process.env.NODE_IMAGE ? ['--build-arg', `BASE_IMAGE=${process.env.NODE_IMAGE}`] : [];
  const file = ['--file', join(context, 'deploy/docker/Dockerfile')];
  const built = docker(['build', ...file, ...base, ...options, '--tag', tag, context], BUILD_MS);
  assert.equal(built.status, 0, built.stderr);
}

const inside = (image: string, script: string): string => {
  const ran = docker(['run', '--rm', '--network', 'none', '--entrypoint', 'sh', image, '-c', script]);
  assert.equal(ran.status, 0, ran.stderr);
  return ran.stdout;
};

test('the image is the package with what it needs, and the package builds the same image', {
  skip: withoutEngine(),
}, (t) => {
  build(t, FROM_SOURCES, '.');
  const unwanted = 'command -v gcc cc make python3; ls -d /root/.npm /var/cache/apt/*.bin /tmp/* || true';
  assert.equal(inside(FROM_SOURCES, unwanted), '');
  assert.equal(inside(FROM_SOURCES, 'find /app -name node_modules -o -name "*.ts"'), '');
  assert.equal(inside(FROM_SOURCES, 'fleet --help | head -n 1'), 'Usage: fleet <command> [options]\n');

  const copy = join(tempDir(t), 'package');
  const created = docker(['create', FROM_SOURCES]);
  const container = created.stdout.trim();
  t.after(() => docker(['rm', container]));
  assert.equal(docker(['cp', `${container}:/app`, copy]).status, 0);
  rmSync(join(copy, '.compile-cache'), { recursive: true });
  build(t, FROM_PACKAGE, copy, '--build-arg', 'PACKAGE=from-package');
  const files = 'find /app -path /app/.compile-cache -prune -o -type f -exec sha256sum {} + | sort';
  assert.equal(inside(FROM_PACKAGE, files), inside(FROM_SOURCES, files));
});
