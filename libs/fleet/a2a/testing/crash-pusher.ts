import { openLedger } from '@hermes-fleet/ledger';
import { systemClock as clock, systemIds } from '@hermes-fleet/protocol/ports';
import { silentLog as log } from '@hermes-fleet/protocol/testing';
import { createPushService } from '../src/push/push-service.ts';

/** Child process of the crash test: delivers the push notifications of a ledger's tasks until it is killed. */
const [, , file = ''] = process.argv;
const ledger = openLedger({ file, profile: 'neo', clock, ids: systemIds, log });
process.stdin.resume();
createPushService({
  ledger,
  rules: { allowInternal: ['127.0.0.1'] },
  limits: { perTask: 10, perCaller: 10 },
  giveUpAfterMs: 60_000,
  rpcUrl: () => 'http://127.0.0.1/jsonrpc',
  clock,
  log,
}).start();
