import type { ApiClient } from '@hermes-fleet/net/api';
import type { Clock, Log } from '@hermes-fleet/protocol/ports';
import type { Store } from '@hermes-fleet/store';
import type { Prices } from '../config/token-prices.ts';
import type { Rebuilt } from '../consume/feed.ts';
import type { ProfileAddress } from '../profiles/client.ts';
import type { Codes } from '../session/codes.ts';
import type { Sessions } from '../session/sessions.ts';
import type { StaticFile } from '../web/static-files.ts';
import type { Changes } from './changes.ts';
import type { StatusDocument } from './status.ts';

/** What the routes of the console are made of. */
export interface ApiOptions {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly codes: Codes;
  readonly sessions: Sessions;
  /** The secret that makes codes. */
  readonly loginSecret: string;
  readonly rebuild: () => Promise<Rebuilt>;
  readonly changes: Changes;
  readonly status: () => StatusDocument;
  readonly prices: Prices;
  /** Calls profiles. */
  readonly client: ApiClient;
  /** The profile that takes dispatches and judges tokens. */
  readonly entry: ProfileAddress;
  /** All profiles by name, the entry first. */
  readonly addresses: ReadonlyMap<string, ProfileAddress>;
  /** The name of the trader among the profiles. */
  readonly trader: string;
  readonly version: string;
  readonly links: { readonly grafana_url: string | null; readonly trace_url: string | null };
  /** The files of the page, and their Content-Security-Policy. */
  readonly web: { readonly files: readonly StaticFile[]; readonly policy: string };
}
