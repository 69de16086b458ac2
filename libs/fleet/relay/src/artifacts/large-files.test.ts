import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PeerArtifact, PeerPart } from '@hermes-fleet/a2a';
import { DONE, dispatching, relayFleet, type TestProfile } from '@hermes-fleet/gateway/testing';
import { FleetError } from '@hermes-fleet/protocol';
import type { ArtifactChunk, TaskArtifacts } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog } from '@hermes-fleet/protocol/testing';
import { createPassArtifacts } from './pass-artifacts.ts';

const big = (fill: string): string => Buffer.alloc(600_000, fill).toString('base64');
const BASE = 'http://127.0.0.1:1';

const filesOf = (at: TestProfile, id: string): string[] =>
  at.ledger
    .wholeArtifact(id, 'report.pdf')
    .flatMap(({ parts }) =>
      parts.map((part) => (part.kind === 'file' ? Buffer.from(part.base64, 'base64').toString() : part.kind)),
    )
    .map((content) => `${content.length} of ${content[0]}`);

test('a large file that its worker publishes again takes the place of the first one at the orchestrator', async (t) => {
  const stored = Promise.withResolvers<void>();
  const { orchestrator } = await relayFleet(t, {
    neo: {
      script: async (_task, { artifacts }) => {
        const file = (fill: string) => [{ kind: 'file' as const, base64: big(fill), name: 'report.pdf' }];
        await artifacts?.add({ id: 'report.pdf', place: 0, parts: file('1'), isLast: true });
        await stored.promise;
        await artifacts?.add({
          id: 'report.pdf',
          place: 1,
          parts: file('2'),
          replaces: true,
          isLast: true,
        });
        return DONE;
      },
    },
  });
  const id = await orchestrator.send(dispatching());
  await orchestrator.event(id, 'artifact');
  assert.deepEqual(filesOf(orchestrator, id), ['600000 of 1']);
  stored.resolve();
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.deepEqual(filesOf(orchestrator, id), ['600000 of 2']);
});

/** A peer whose files answer as told, and a ledger; `process` is one process of the orchestrator. */
function harness(isMember = true) {
  const stored: ArtifactChunk[] = [];
  const alerts: unknown[] = [];
  const asked: string[] = [];
  const answers = new Map<string, string | FleetError>();
  const clock = manualClock();
  const artifacts: TaskArtifacts = {
    maxBytes: 1e6,
    // As in the ledger, chunks before one that replaces them have no parts.
    findArtifact: (id) => {
      const own = stored.filter((chunk) => chunk.id === id);
      const from = own.findLastIndex(({ replaces }) => replaces);
      return own.map((chunk, at) => (at < from ? { ...chunk, parts: [] } : chunk));
    },
    add: async (added) => stored.push(added) > 0,
  };
  const process = () =>
    createPassArtifacts({
      context: {
        artifacts,
        reportEvent: async (event) => void alerts.push('data' in event ? event.data : event.type),
        signal: new AbortController().signal,
      },
      client: {
        async file(_peer, url, { maxBytes }) {
          asked.push(url.slice(BASE.length));
          const answer = answers.get(url.slice(BASE.length)) ?? assert.fail(url);
          if (typeof answer !== 'string') throw answer;
          if (answer.length > maxBytes) throw new FleetError('ARTIFACT_TOO_LARGE', 'too large');
          return Buffer.from(answer);
        },
      },
      endpoint: { name: 'neo', url: `${BASE}/jsonrpc`, token: undefined },
      isMember,
      traceparent: undefined,
      clock,
      random: () => 0,
      peerDownAfterMs: 10_000,
      deadlineAt: undefined,
      log: silentLog,
    });
  return { stored, alerts, asked, answers, clock, process };
}

const shown = (path: string, more: Partial<PeerPart> = {}): { artifacts: PeerArtifact[] } => ({
  artifacts: [
    {
      id: 'f',
      isComplete: true,
      parts: [{ kind: 'file', url: `${BASE}${path}`, ...more } as PeerPart],
    },
  ],
});
const going = { terminal: false };
const ended = { terminal: true };
const away = new FleetError('PEER_UNREACHABLE', 'away');
const gone = new FleetError('PEER_REFUSED', 'HTTP 404');
const contents = (stored: readonly ArtifactChunk[]): string[] =>
  stored.flatMap(({ parts, replaces }) =>
    parts.map((part) => {
      const content = part.kind === 'file' ? Buffer.from(part.base64, 'base64').toString() : part.kind;
      return replaces ? `${content} instead` : content;
    }),
  );

test('after a restart, a file by reference is fetched once and compared, and what is stored stays', async () => {
  const { stored, asked, answers, process } = harness();
  answers.set('/1', 'one').set('/2', 'two');
  const first = process();
  await first({ ...shown('/1'), ...going });
  await first({ ...shown('/1'), ...going });
  assert.deepEqual([contents(stored), asked], [['one'], ['/1']]);
  const second = process();
  await second({ ...shown('/1'), ...going });
  await second({ ...shown('/1'), ...ended });
  assert.deepEqual([contents(stored), asked], [['one'], ['/1', '/1']]);
  await process()({ ...shown('/2'), ...ended });
  assert.deepEqual(contents(stored), ['one', 'two instead']);
  await process()({ ...shown('/2'), ...ended });
  assert.deepEqual(contents(stored), ['one', 'two instead'], 'what was replaced is not compared');
  await process()({ ...shown('/2', { mediaType: 'text/csv' }), ...ended });
  assert.deepEqual(contents(stored).slice(2), ['two instead'], 'another media type');
});

test('a file is the same whether its peer shows it inline or by reference', async () => {
  const { stored, answers, process } = harness();
  answers.set('/1', 'one');
  const pass = process();
  const inline: PeerPart = { kind: 'file', base64: Buffer.from('one').toString('base64') };
  await pass({ artifacts: [{ id: 'f', isComplete: true, parts: [inline] }], ...going });
  await pass({ ...shown('/1'), ...going });
  await pass({ artifacts: [{ id: 'f', isComplete: true, parts: [inline] }], ...ended });
  assert.deepEqual(contents(stored), ['one']);
});

test('a file that is replaced while it is fetched is not missed, and is not asked for again', async () => {
  const { stored, alerts, asked, answers, process } = harness();
  answers.set('/1', gone).set('/2', 'two');
  const pass = process();
  await pass({ ...shown('/1'), ...going });
  await pass({ ...shown('/1'), ...going });
  assert.deepEqual(asked, ['/1']);
  await pass({ ...shown('/2'), ...ended });
  assert.deepEqual([contents(stored), alerts], [['two'], []]);
});

test('a file that no state of the task shows any more is left out with an alert at its end', async () => {
  const { stored, alerts, answers, process } = harness();
  answers.set('/1', gone);
  const pass = process();
  await pass({ ...shown('/1'), ...going });
  assert.deepEqual(alerts, []);
  await pass({ ...shown('/1'), ...ended });
  await pass({ ...shown('/1'), ...ended });
  assert.deepEqual(alerts, [{ reason: 'artifact_refused', peer: 'neo', error: 'peer_refused' }]);
  assert.deepEqual(stored, []);
});

test('a peer that is away is asked with pauses, again at a later state, and waited for at the end', async () => {
  const { stored, alerts, asked, answers, clock, process } = harness();
  answers.set('/1', away);
  const pass = process();
  const first = pass({ ...shown('/1'), ...going });
  for (const pauseMs of [100, 200]) {
    await clock.asleep(1);
    await clock.advance(pauseMs);
  }
  await first;
  await pass({ ...shown('/1'), ...going });
  assert.equal(asked.length, 3, 'not at every state');
  await clock.advance(500);
  const second = pass({ ...shown('/1'), ...going });
  await clock.asleep(1);
  assert.equal(asked.length, 4);
  answers.set('/1', new FleetError('PEER_REFUSED', 'HTTP 429', { retryable: true }));
  for (const pauseMs of [100, 200]) {
    await clock.asleep(1);
    await clock.advance(pauseMs);
  }
  await second;
  const last = pass({ ...shown('/1'), ...ended });
  for (const pauseMs of [100, 200, 400, 800]) {
    await clock.asleep(1);
    await clock.advance(pauseMs);
  }
  await clock.asleep(1);
  answers.set('/1', 'one');
  await clock.advance(1_600);
  await last;
  assert.deepEqual([contents(stored), alerts], [['one'], []]);
});

test('a peer that stays away is waited for as long as a peer may be away, with one alert', async () => {
  const { alerts, asked, answers, clock, process } = harness();
  answers.set('/1', away).set('/2', away);
  const [one, two] = [shown('/1').artifacts, shown('/2').artifacts.map((each) => ({ ...each, id: 'g' }))];
  const last = process()({ artifacts: [...one, ...two], ...ended });
  for (const pauseMs of [100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500]) {
    await clock.asleep(1);
    await clock.advance(pauseMs);
  }
  await last;
  assert.deepEqual(alerts, [{ reason: 'artifact_refused', peer: 'neo', error: 'peer_unreachable' }]);
  assert.deepEqual(asked.slice(-2), ['/1', '/2'], 'the second file is asked for once');
});

test('the files of one artifact have together what one artifact may have, and no more is fetched', async () => {
  const { stored, alerts, asked, answers, process } = harness();
  const pass = process();
  const files = (mediaType: string, ...paths: string[]): PeerPart[] =>
    paths.map((path) => ({ kind: 'file', url: `${BASE}${path}`, mediaType }));
  const artifact = (id: string, parts: PeerPart[]): PeerArtifact => ({ id, isComplete: true, parts });
  for (const path of ['/1', '/2', '/3', '/4']) answers.set(path, path.repeat(200_000));
  await pass({ artifacts: [artifact('a', files('x/a', '/1', '/2'))], ...going });
  await pass({ artifacts: [artifact('a', files('x/b', '/1', '/2'))], ...going });
  assert.deepEqual([stored.length, alerts], [2, []], 'each artifact, and each try, begins anew');
  const more = [artifact('b', files('x/a', '/1', '/2', '/3', '/4')), artifact('c', files('x/a', '/3'))];
  await pass({ artifacts: more, ...going });
  assert.deepEqual(asked.slice(4), ['/1', '/2', '/3', '/3'], 'nothing is fetched after what is too large');
  assert.deepEqual(
    stored.slice(2).map(({ id }) => id),
    ['c'],
  );
  assert.deepEqual(alerts, [{ reason: 'artifact_refused', peer: 'neo', error: 'artifact_too_large' }]);
});

test('the files of an agent that is no member stay links, also at its own address', async () => {
  const { stored, asked, process } = harness(false);
  const pass = process();
  await pass({ ...shown('/1'), ...going });
  await pass({ ...shown('/1'), ...ended });
  assert.deepEqual(asked, []);
  assert.deepEqual(
    stored.map(({ parts }) => parts),
    [[{ kind: 'link', url: `${BASE}/1` }]],
  );
});

test('texts of one artifact with different media types stay two parts in a relayed task', async (t) => {
  const parts = [
    { kind: 'text' as const, text: '# Report', mediaType: 'text/markdown' },
    { kind: 'text' as const, text: 'a,b\n1,2', mediaType: 'text/csv' },
    { kind: 'text' as const, text: '3,4', mediaType: 'text/csv' },
  ];
  const more = { kind: 'text' as const, text: ',5', mediaType: 'text/csv' };
  const { orchestrator } = await relayFleet(t, {
    neo: {
      script: async (_task, { artifacts }) => {
        await artifacts?.add({ id: 'a', place: 0, parts, isLast: false });
        await artifacts?.add({ id: 'a', place: 1, parts: [more], isLast: true });
        return DONE;
      },
    },
  });
  const id = await orchestrator.send(dispatching());
  await orchestrator.result(id);
  const found = orchestrator.ledger.wholeArtifact(id, 'a').flatMap(({ parts: of }) => of);
  assert.deepEqual(found.slice(0, 2), parts.slice(0, 2));
  const csv = found.slice(2).map((part) => (part.kind === 'text' ? part.text : '?'));
  assert.equal(csv.join(''), '3,4,5');
  assert.equal(orchestrator.ledger.artifacts(id).filter(({ replaces }) => replaces).length, 0);
});
