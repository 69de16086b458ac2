import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { z } from 'zod';
import {
  decodeAnnounce,
  decodeDispatch,
  decodeResult,
  encodeAnnounce,
  FleetError,
  foreignAnnounce,
  negotiate,
  readAnnounce,
  spokenVersions,
} from './index.ts';

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../fixtures/3.0/${name}.json`, import.meta.url), 'utf8'));

describe('an announce of another major version', () => {
  for (const [what, file, spoken, versions] of [
    ['that speaks nothing else', 'session-announce', ['2.1', '2.0'], ['3.0']],
    ['that could speak ours', 'session-announce.both-in-3.0', ['2.0'], ['3.0', '2.0']],
  ] as const)
    it(`${what} tells its versions and nothing else`, () => {
      assert.deepEqual(readAnnounce(fixture(file), spoken), { kind: 'foreign', versions });
    });

  it('is read where that major is spoken, and then by its fields', () => {
    assert.throws(() => readAnnounce(fixture('session-announce'), ['3.0']), { code: 'INVALID_PARAMS' });
  });

  it('may list what is no version, or nothing at all', () => {
    const wire = z.looseObject({}).parse(fixture('session-announce'));
    for (const [listed, versions] of [
      [
        ['3.1', '2', 4, null, '3.0'],
        ['3.0', '3.1'],
      ],
      ['2.0', ['3.0']],
      [undefined, ['3.0']],
    ] as const)
      assert.deepEqual(readAnnounce({ ...wire, protocol_versions: listed }, ['2.0']), {
        kind: 'foreign',
        versions,
      });
  });

  it('without a version that can be read is simply wrong', () => {
    for (const wire of [{}, [], null, 'SESSION_ANNOUNCE', { protocol_version: 3 }, { protocol_version: '3' }])
      assert.throws(
        () => readAnnounce(wire, ['2.0']),
        (error) => error instanceof FleetError && error.code === 'INVALID_PARAMS',
      );
  });

  it('leaves a record that says who it is and what it speaks, and that comes back from the wire', () => {
    const announce = foreignAnnounce('morpheus', ['3.0', '3.1']);
    assert.deepEqual([announce.worker.agentId, announce.protocolVersions], ['morpheus', ['3.0', '3.1']]);
    assert.deepEqual(decodeAnnounce(encodeAnnounce(announce)), announce);
    assert.deepEqual(announce.capabilities, { tools: [], mcpServers: [] });
  });
});

it('who lists no versions speaks that of its announce', () => {
  const announce = foreignAnnounce('neo', ['2.1', '2.0']);
  assert.deepEqual(spokenVersions(announce), ['2.1', '2.0']);
  assert.deepEqual(spokenVersions({ ...announce, protocolVersions: [] }), ['2.1']);
  assert.deepEqual(spokenVersions({ ...announce, protocolVersions: undefined }), ['2.1']);
});

it('an announce in our version that lists 3.0 too is read whole, and ours is spoken with who sent it', () => {
  const reading = readAnnounce(fixture('session-announce.both'), ['2.0']);
  assert.ok(reading.kind === 'announce');
  assert.deepEqual(reading.announce.protocolVersions, ['3.0', '2.1', '2.0']);
  assert.equal(negotiate(['2.0'], reading.announce.protocolVersions ?? []), '2.0');
  assert.equal(negotiate(['3.0', '2.0'], reading.announce.protocolVersions ?? []), '3.0');
});

it('a dispatch or a result in the shape of 3.0 is not taken for one of ours', () => {
  for (const [decode, file] of [
    [decodeDispatch, 'task-dispatch'],
    [decodeResult, 'task-result'],
  ] as const)
    assert.throws(
      () => decode(fixture(file)),
      (error) => error instanceof FleetError && error.code === 'INVALID_PARAMS' && error.fields.length > 3,
    );
});
