import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { FleetError } from '../errors.ts';
import type { JsonObject } from '../wire/json.ts';
import { decodeAnnounce, encodeAnnounce } from './announce.ts';
import { decodeDispatch, encodeDispatch } from './dispatch.ts';
import { decodeResult, encodeResult } from './result.ts';

const folder = (version: string): string =>
  fileURLToPath(new URL(`../../fixtures/${version}`, import.meta.url));

const fixture = (name: string, version = '2.0'): unknown =>
  JSON.parse(readFileSync(join(folder(version), `${name}.json`), 'utf8'));

const codecs: Record<string, (wire: unknown) => JsonObject> = {
  'session-announce': (wire) => encodeAnnounce(decodeAnnounce(wire)),
  'task-dispatch': (wire) => encodeDispatch(decodeDispatch(wire)),
  'task-result': (wire) => encodeResult(decodeResult(wire)),
};

const Invalid = z.array(
  z.strictObject({ name: z.string(), message: z.unknown(), fields: z.array(z.string()) }),
);

for (const [version, whole] of [
  ['2.0', ['.source', '.maximal']],
  ['2.1', ['']],
] as const)
  for (const [message, replay] of Object.entries(codecs)) {
    describe(`${message}, version ${version}`, () => {
      for (const kind of whole) {
        it(`is the same byte for byte after decoding and encoding${kind && `: ${kind}`}`, () => {
          const wire = fixture(message + kind, version);
          const before = JSON.stringify(wire);
          assert.equal(JSON.stringify(replay(wire)), before);
          assert.equal(JSON.stringify(wire), before);
        });
      }

      for (const { name, message: wire, fields } of Invalid.parse(fixture(`${message}.invalid`, version))) {
        it(`names every invalid field: ${name}`, () => {
          assert.throws(
            () => replay(wire),
            (error) => {
              assert.ok(error instanceof FleetError);
              assert.equal(error.code, 'INVALID_PARAMS');
              assert.deepEqual(error.fields.map(({ path }) => path).sort(), [...fields].sort());
              for (const { path, reason } of error.fields) {
                assert.ok(reason.length > 0);
                assert.ok(error.message.includes(`${path || '(message)'}: ${reason}`), error.message);
              }
              return true;
            },
          );
        });
      }
    });
  }

describe('the *.source.json examples', () => {
  it('decode to their values', () => {
    const announce = decodeAnnounce(fixture('session-announce.source'));
    assert.equal(announce.worker.agentId, 'claude-code');
    assert.deepEqual(announce.mcpHealth, { context_mode: 'ok', claude_mem: 'ok', trek: 'timeout' });
    assert.deepEqual(announce.session.repoState, { branch: 'main', clean: true });

    const dispatch = decodeDispatch(fixture('task-dispatch.source'));
    assert.equal(dispatch.task.taskId, 'abc-123');
    assert.equal(dispatch.task.tokenBudget, 4000);
    assert.deepEqual(dispatch.requirements?.requiredMcp, ['context_mode']);

    const result = decodeResult(fixture('task-result.source'));
    assert.equal(result.status, 'done');
    assert.equal(result.blockedReason, null);
    assert.equal(result.artifacts.filesChanged.length, 2);
  });
});

it('an unknown field with the camelCase name of a known one never replaces it', () => {
  const dispatch = decodeDispatch(fixture('task-dispatch.maximal'));
  assert.equal(dispatch.task.taskId, 'abc-123/2');
  const { task } = z.object({ task: z.looseObject({}) }).parse(fixture('task-dispatch.source'));
  const forged = {
    ...z.looseObject({}).parse(fixture('task-dispatch.source')),
    task: { ...task, tokenBudget: 'lots' },
  };
  assert.equal(decodeDispatch(forged).task.tokenBudget, 4000);
  assert.deepEqual(encodeDispatch(decodeDispatch(forged)), forged);
});

it('an error names the first hundred invalid fields and counts the rest', () => {
  const announce = z.looseObject({}).parse(fixture('session-announce.source'));
  const mcp_health = Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`server${i}`, 'slow']));
  assert.throws(
    () => decodeAnnounce({ ...announce, mcp_health }),
    (error) =>
      error instanceof FleetError && error.fields.length === 100 && error.message.endsWith('; and 150 more'),
  );
});
