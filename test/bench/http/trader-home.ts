import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountOf, CONCERNS, marketOf, strategyOf } from './decision-body.ts';

/** Longer than a bench: the feeds have one bar each, so that their engines take no time. */
const INTERVAL_S = 86_400;

const FLEET = `fleet:
  role: trader
  server:
    bind_port: $\{PORT}
    callers:
      operator:
        token_env: BENCH_TOKEN
        scopes: [announce, dispatch, read, "trader:read", "trader:decide"]
`;

/** The configuration of a trader with many concerns and no broker, for `servers/trader.ts`. */
export function writeTraderHome(home: string): void {
  const dir = join(home, 'trader');
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'fleet.yaml'), FLEET);
  const markets = Array.from({ length: CONCERNS }, (_, concern) => concern);
  const of = (concern: number) => ({ account_id: accountOf, market_symbol: marketOf(concern) });
  const trader = {
    rate: { per_second: 100_000, burst: 100_000, kept_for_pause: 20 },
    callers: { operator: { accounts: ['*'] } },
    concerns: markets.map((concern) => ({
      ...of(concern),
      active_strategy_id: strategyOf(concern),
      balances: { quote: '10000' },
      limits: { max_order: '1000', max_position: '4000', min_order: '1' },
      feed: { kind: 'synthetic', seed: concern, start_price: '2', interval_s: INTERVAL_S },
    })),
    strategies: markets.map((concern) => ({
      ...of(concern),
      id: strategyOf(concern),
      name: 'bench',
      kind: 'grid_trader',
    })),
  };
  writeFileSync(join(dir, 'trader.yaml'), JSON.stringify({ trader }));
  writeFileSync(join(dir, 'IDENTITY.md'), '---\nname: trader\ndescription: A bench.\n---\n# trader\n');
}
