import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { announceOf } from '../../testing/index.ts';
import { type AnnounceSource, type AuthorizationContext, authorizeAnnounce } from './authorize-announce.ts';

const AT = 'http://127.0.0.1:9230/jsonrpc';
const JOIN = new Set(['announce', 'join']);
const PLAIN = new Set(['announce', 'dispatch', 'read']);

/** switch: neo is configured; tank and mouse may join, tank also for worker-*; dozer may announce only. */
function ground(
  o: { joined?: { caller: string; url: string; live: boolean }; endpoints?: string[] } = {},
): AuthorizationContext {
  return {
    self: 'switch',
    configured: new Map([['neo', { url: 'http://127.0.0.1:9220/jsonrpc', token: 'x' }]]),
    policy: {
      callers: {
        tank: { joins: true, speaksFor: ['worker-*', 'neo', 'mouse', 'switch', 'auto'] },
        mouse: { joins: true, speaksFor: [] },
        dozer: { joins: false, speaksFor: ['truck'] },
      },
      endpoints: o.endpoints ?? ['http://127.0.0.1:*'],
      own: ['http://127.0.0.1:9219/jsonrpc'],
    },
    joined: (name) => (name === 'tank' || name === 'worker-1' ? o.joined : undefined),
    ownerOf: (url) => (url === 'http://127.0.0.1:9777/jsonrpc' ? 'worker-7' : undefined),
  };
}

const live = { caller: 'tank', url: AT, live: true };
const stale = { ...live, live: false };

/** Source, agent and endpoint of an announce, with the peer's standing or the reason of the refusal. */
const TABLE: [
  what: string,
  from: AnnounceSource,
  agent: string,
  endpoint: string | undefined,
  expected: string | RegExp,
  ground?: AuthorizationContext,
][] = [
  ['a configured peer itself', { name: 'neo', scopes: PLAIN }, 'neo', undefined, 'configured'],
  [
    'a configured peer at its address',
    { name: 'neo', scopes: PLAIN },
    'neo',
    'http://localhost:9220',
    'configured',
  ],
  ['a configured peer elsewhere', { name: 'neo', scopes: PLAIN }, 'neo', 'http://evil:9220', /configured at/],
  ['a configured peer elsewhere that may join', { name: 'neo', scopes: JOIN }, 'neo', AT, /configured at/],
  ['the shared token for a configured peer', { name: 'peer', scopes: PLAIN }, 'neo', undefined, 'configured'],
  ['somebody named like the shared caller', { name: 'peer' }, 'neo', undefined, /may not speak for neo/],
  [
    'another caller for a configured peer',
    { name: 'tank', scopes: JOIN },
    'neo',
    undefined,
    /may not speak for neo/,
  ],
  ['an answer of a configured peer', { name: 'neo' }, 'neo', undefined, 'configured'],
  ['an answer in another name', { name: 'trinity' }, 'neo', undefined, /may not speak for neo/],
  ['anybody in our own name', { name: 'switch', scopes: JOIN }, 'switch', AT, /this profile itself/],
  ['speaks_for with our own name', { name: 'tank', scopes: JOIN }, 'switch', AT, /this profile itself/],
  ['a worker that may join', { name: 'tank', scopes: JOIN }, 'tank', AT, 'joined tank 9230'],
  [
    'the same without /jsonrpc',
    { name: 'tank', scopes: JOIN },
    'tank',
    'http://127.0.0.1:9230',
    'joined tank 9230',
  ],
  [
    'a worker in a name that is its to give',
    { name: 'tank', scopes: JOIN },
    'worker-1',
    AT,
    'joined tank 9230',
  ],
  [
    'a worker in a name that is not',
    { name: 'tank', scopes: JOIN },
    'stranger',
    AT,
    /may not speak for stranger/,
  ],
  [
    'a worker in the name of another caller',
    { name: 'tank', scopes: JOIN },
    'mouse',
    AT,
    /may not speak for mouse/,
  ],
  [
    'a worker named as a word of the handshake',
    { name: 'tank', scopes: JOIN },
    'auto',
    AT,
    /may not speak for auto/,
  ],
  ['a name that every object has', { name: 'tank', scopes: JOIN }, 'constructor', AT, /may not speak for/],
  [
    'the shared token for somebody unknown',
    { name: 'peer', scopes: PLAIN },
    'tank',
    AT,
    /may not speak for tank/,
  ],
  [
    'an endpoint that is not allowed',
    { name: 'tank', scopes: JOIN },
    'tank',
    'http://evil:1',
    /may not join with/,
  ],
  [
    'an endpoint with a user',
    { name: 'tank', scopes: JOIN },
    'tank',
    'http://127.0.0.1:1@evil',
    /may not join with/,
  ],
  ['no endpoint', { name: 'tank', scopes: JOIN }, 'tank', undefined, 'known'],
  [
    'our own address',
    { name: 'tank', scopes: JOIN },
    'tank',
    'http://127.0.0.1:9219',
    /that is where switch is/,
  ],
  [
    "a configured peer's address",
    { name: 'tank', scopes: JOIN },
    'tank',
    'http://127.0.0.1:9220',
    /where neo is/,
  ],
  [
    "another worker's address",
    { name: 'tank', scopes: JOIN },
    'tank',
    'http://127.0.0.1:9777',
    /where worker-7 is/,
  ],
  [
    'its own address again',
    { name: 'tank', scopes: JOIN },
    'worker-7',
    'http://127.0.0.1:9777',
    'joined tank 9777',
  ],
  ['no scope to join', { name: 'dozer', scopes: PLAIN }, 'dozer', AT, 'known'],
  ['no scope to join, for another', { name: 'dozer', scopes: PLAIN }, 'truck', AT, 'known'],
  ['nobody may join here', { name: 'tank', scopes: JOIN }, 'tank', AT, 'known', ground({ endpoints: [] })],
  ['a name on NATS that nobody knows', { name: 'ghost' }, 'ghost', AT, 'known'],
  ['a name on NATS that may join, but has not', { name: 'tank' }, 'tank', AT, 'known'],
  ['another name on NATS', { name: 'ghost' }, 'tank', AT, /may not speak for tank/],
  [
    'NATS, of a worker that joined, at its address',
    { name: 'tank' },
    'tank',
    AT,
    'joined tank 9230',
    ground({ joined: live }),
  ],
  [
    'NATS, of a stale worker, at its address',
    { name: 'tank' },
    'tank',
    AT,
    'joined tank 9230',
    ground({ joined: stale }),
  ],
  [
    'NATS, of a worker that joined, elsewhere',
    { name: 'tank' },
    'tank',
    'http://127.0.0.1:9231',
    /joined with/,
    ground({ joined: live }),
  ],
  [
    'NATS, of a worker that joined, nowhere',
    { name: 'tank' },
    'tank',
    undefined,
    /joined with/,
    ground({ joined: live }),
  ],
  [
    'its own caller, from a new address',
    { name: 'tank', scopes: JOIN },
    'worker-1',
    'http://127.0.0.1:9231',
    'joined tank 9231',
    ground({ joined: live }),
  ],
  [
    'a name that another token has joined with',
    { name: 'tank', scopes: JOIN },
    'tank',
    AT,
    /token of mouse, and is live/,
    ground({ joined: { ...live, caller: 'mouse' } }),
  ],
  [
    'a name whose owner has gone silent',
    { name: 'tank', scopes: JOIN },
    'tank',
    AT,
    'joined tank 9230',
    ground({ joined: { ...stale, caller: 'mouse' } }),
  ],
];

describe('an announce from', () => {
  for (const [what, from, agent, endpoint, expected, on] of TABLE)
    it(`${what}: ${expected}`, () => {
      const announce = announceOf(agent, endpoint === undefined ? {} : { endpoint });
      const verdict = authorizeAnnounce(announce, from, on ?? ground());
      if (expected instanceof RegExp) {
        assert.equal(verdict.standing, 'refused');
        assert.match(verdict.standing === 'refused' ? verdict.reason : '', expected);
        return;
      }
      const [standing, caller, port] = expected.split(' ');
      assert.equal(verdict.standing, standing);
      assert.deepEqual(
        verdict.standing === 'joined' ? verdict.joined : undefined,
        caller && { caller, url: `http://127.0.0.1:${port}/jsonrpc` },
      );
    });
});
