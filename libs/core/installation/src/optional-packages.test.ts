import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { folder } from './installation.ts';
import { TESTED_PACKAGES } from './optional-packages.ts';

test('each release that fleet add chooses is the one of the tests', () => {
  const { '@anthropic-ai/claude-agent-sdk': _installedApart, ...chosen } = TESTED_PACKAGES;
  const { devDependencies } = JSON.parse(readFileSync(join(folder(), 'package.json'), 'utf8'));
  const tested = Object.entries(devDependencies).filter(([name]) => name.startsWith('@ai-sdk/'));
  assert.deepEqual(chosen, Object.fromEntries(tested));
});
