import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { z } from 'zod';
import { FleetError } from '../errors.ts';
import { negotiate } from '../wire/version.ts';
import {
  announceView,
  decodeAnnounce,
  encodeAnnounce,
  foreignAnnounce,
  readAnnounce,
  spokenVersions,
  undecodedView,
} from './announce.ts';
import { decodeDispatch } from './dispatch.ts';
import { decodeResult } from './result.ts';

const fixture = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/3.0/${name}.json`, import.meta.url), 'utf8'));

describe('an announce of another major version', () => {
  for (const [what, file, spoken, versions] of [
    ['without other versions', 'session-announce', ['2.1', '2.0'], ['3.0']],
    ['with our version in its list', 'session-announce.both-in-3.0', ['2.0'], ['3.0', '2.0']],
  ] as const)
    it(`${what} is read for its versions only`, () => {
      assert.deepEqual(readAnnounce(fixture(file), spoken), { kind: 'foreign', versions });
    });

  it('is decoded in full by a speaker of that major', () => {
    assert.throws(() => readAnnounce(fixture('session-announce'), ['3.0']), { code: 'INVALID_PARAMS' });
  });

  it('may list invalid versions or none', () => {
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

  it('is invalid without a readable version', () => {
    for (const wire of [{}, [], null, 'SESSION_ANNOUNCE', { protocol_version: 3 }, { protocol_version: '3' }])
      assert.throws(
        () => readAnnounce(wire, ['2.0']),
        (error) => error instanceof FleetError && error.code === 'INVALID_PARAMS',
      );
  });

  it('leaves a record of its name and versions that survives encoding and decoding', () => {
    const announce = foreignAnnounce('morpheus', ['3.0', '3.1']);
    assert.deepEqual([announce.worker.agentId, announce.protocolVersions], ['morpheus', ['3.0', '3.1']]);
    assert.deepEqual(decodeAnnounce(encodeAnnounce(announce)), announce);
    assert.deepEqual(announce.capabilities, { tools: [], mcpServers: [] });
  });
});

it('a sender without a list of versions speaks the version of its announce', () => {
  const announce = foreignAnnounce('neo', ['2.1', '2.0']);
  assert.deepEqual(spokenVersions(announce), ['2.1', '2.0']);
  assert.deepEqual(spokenVersions({ ...announce, protocolVersions: [] }), ['2.1']);
  assert.deepEqual(spokenVersions({ ...announce, protocolVersions: undefined }), ['2.1']);
});

it('the health of a model is optional, and an unknown word for it is read as error', () => {
  const announce = foreignAnnounce('neo', ['2.0']);
  const wire = encodeAnnounce(announce);
  assert.equal(decodeAnnounce(wire).modelHealth, undefined);
  for (const [said, read] of [
    ['ok', 'ok'],
    ['timeout', 'timeout'],
    ['throttled', 'error'],
  ])
    assert.equal(decodeAnnounce({ ...wire, protocol_version: '2.9', model_health: said }).modelHealth, read);
  assert.throws(() => decodeAnnounce({ ...wire, model_health: 1 }), { code: 'INVALID_PARAMS' });
});

it('an announce in our version that also lists 3.0 is decoded in full, and negotiation picks our version', () => {
  const reading = readAnnounce(fixture('session-announce.both'), ['2.0']);
  assert.ok(reading.kind === 'announce');
  assert.deepEqual(reading.announce.protocolVersions, ['3.0', '2.1', '2.0']);
  assert.equal(negotiate(['2.0'], reading.announce.protocolVersions ?? []), '2.0');
  assert.equal(negotiate(['3.0', '2.0'], reading.announce.protocolVersions ?? []), '3.0');
});

it('a dispatch or a result in the shape of 3.0 is invalid', () => {
  for (const [decode, file] of [
    [decodeDispatch, 'task-dispatch'],
    [decodeResult, 'task-result'],
  ] as const)
    assert.throws(
      () => decode(fixture(file)),
      (error) => error instanceof FleetError && error.code === 'INVALID_PARAMS' && error.fields.length > 3,
    );
});

it('an announce has a view for each use, also one that is not decoded: fields by their names, null without a value', () => {
  const wire = JSON.parse(
    readFileSync(new URL('../../fixtures/2.0/session-announce.maximal.json', import.meta.url), 'utf8'),
  );
  const { worker, session, limits } = wire;
  const caller = { model_tier: worker.model_tier, role: wire.role, purpose: wire.purpose };
  assert.deepEqual(announceView('caller', decodeAnnounce(wire)), caller);
  assert.deepEqual(announceView('model', decodeAnnounce(wire)), {
    ...caller,
    context_window: worker.context_window,
    active_tasks: session.active_tasks,
    max_concurrent_tasks: limits.max_concurrent_tasks,
  });
  // The names inside of a value are those of the announce as it is.
  const operator = { ...announceView('operator', decodeAnnounce(wire)), repo_state: session.repo_state };
  assert.deepEqual(undecodedView('operator', wire), operator);
  const none = { model_tier: null, role: null, purpose: null };
  assert.deepEqual(undecodedView('caller', undefined), none);
  assert.deepEqual(undecodedView('caller', { worker: 7 }), none);
});
