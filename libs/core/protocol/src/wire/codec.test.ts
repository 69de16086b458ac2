import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { decodeAnnounce, encodeAnnounce } from '../handshake/announce.ts';
import { decodeResult, encodeResult } from '../handshake/result.ts';
import type { JsonObject } from './json.ts';

const Words = z.array(
  z.strictObject({ name: z.string(), message: z.looseObject({}), read: z.looseObject({}) }),
);
const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/2.1/${name}.json`, import.meta.url), 'utf8'));

/** Decodes a message and encodes it under a version. */
const passOn: Record<string, (wire: unknown, version: string) => JsonObject> = {
  'session-announce': (wire, protocolVersion) => encodeAnnounce({ ...decodeAnnounce(wire), protocolVersion }),
  'task-result': (wire, protocolVersion) => encodeResult({ ...decodeResult(wire), protocolVersion }),
};

describe('an unknown word in a message of a newer minor version', () => {
  for (const [message, pass] of Object.entries(passOn))
    for (const { name, message: wire, read } of Words.parse(fixture(`${message}.words`))) {
      it(`is passed on unchanged in that version: ${name}`, () => {
        assert.equal(JSON.stringify(pass(wire, '2.1')), JSON.stringify(wire));
      });

      it(`is passed on as the most cautious known word in our version: ${name}`, () => {
        assert.deepEqual(pass(wire, '2.0'), { ...wire, ...read, protocol_version: '2.0' });
      });

      for (const version of ['2.0', '3.1', '1.9'])
        it(`is rejected in a message of ${version}: ${name}`, () => {
          assert.throws(() => pass({ ...wire, protocol_version: version }, version), {
            code: 'INVALID_PARAMS',
          });
        });
    }

  it('is read as the most cautious known word', () => {
    const [announce] = Words.parse(fixture('session-announce.words'));
    assert.deepEqual(decodeAnnounce(announce?.message).mcpHealth, {
      memory: 'ok',
      weather: 'error',
      disabled: 'error',
    });
    const kinds = Words.parse(fixture('task-result.words')).map(({ message }) => {
      const { unmet, evidence, usage, attempts } = decodeResult(message);
      return [
        unmet?.[0]?.kind,
        evidence?.[0]?.kind,
        usage?.source,
        attempts?.[0]?.considered?.[0]?.verdict,
      ].join();
    });
    assert.deepEqual(kinds, [
      'peer,command,metered,chosen',
      'mcp,claimed,metered,chosen',
      'mcp,command,reported,chosen',
      'mcp,command,metered,excluded',
    ]);
  });

  it('is not put back over a value that has changed since', () => {
    const [{ message } = { message: {} }] = Words.parse(fixture('task-result.words'));
    const result = decodeResult(message);
    const unmet = result.unmet?.map((entry) => ({ ...entry, kind: 'repo' as const })) ?? [];
    assert.deepEqual(
      decodeResult(encodeResult({ ...result, unmet })).unmet?.map(({ kind }) => kind),
      ['repo', 'repo'],
    );
  });

  it('is rejected when it is empty or longer than 200 characters', () => {
    const announce = z.looseObject({}).parse(fixture('session-announce'));
    for (const [word, taken] of [
      ['x'.repeat(200), true],
      ['x'.repeat(201), false],
      ['', false],
    ] as const) {
      const decode = () => decodeAnnounce({ ...announce, mcp_health: { memory: word } });
      if (taken) assert.equal(decode().mcpHealth.memory, 'error');
      else assert.throws(decode, { code: 'INVALID_PARAMS' });
    }
  });

  it('cannot be forged by a field with the name of the key that keeps it', () => {
    const announce = z.looseObject({}).parse(fixture('session-announce'));
    for (const version of ['2.0', '2.1']) {
      const wire = {
        ...announce,
        protocol_version: version,
        mcp_health: { memory: 'error' },
        'word:mcpHealth': { memory: 'ok' },
        'wire:word:mcpHealth': 1,
      };
      assert.equal(JSON.stringify(encodeAnnounce(decodeAnnounce(wire))), JSON.stringify(wire));
    }
  });
});

describe('any message of a newer minor version', () => {
  const word = fc.oneof(
    fc.constantFrom('ok', 'timeout', 'error', 'disabled'),
    fc.string({ minLength: 1, maxLength: 200 }),
  );
  const key = fc
    .oneof(fc.constantFrom('agentId', 'mcpHealth', 'word:mcpHealth', 'wire:x'), fc.string())
    .filter((name) => name !== '__proto__');
  const known = new Set(Object.keys(z.looseObject({}).parse(fixture('session-announce'))));

  it('is the same byte for byte after decoding and encoding, whatever it adds', () => {
    const announce = z.looseObject({}).parse(fixture('session-announce'));
    fc.assert(
      fc.property(
        fc.dictionary(key, word),
        fc.dictionary(
          key.filter((name) => !known.has(name)),
          fc.jsonValue({ maxDepth: 2 }),
        ),
        (mcp_health, more) => {
          const text = JSON.stringify({ ...announce, ...more, mcp_health });
          assert.equal(JSON.stringify(encodeAnnounce(decodeAnnounce(JSON.parse(text)))), text);
        },
      ),
      { numRuns: 300 },
    );
  });
});
