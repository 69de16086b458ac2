import { z } from 'zod';
import { get, post } from './route.ts';

const text = z.string();

/** A head of an audit that the console has seen. */
export const SeenHead = z.object({ service: text, store: text, seq: z.int().positive(), hash: text });

/** The routes of the console for the command, which take CONSOLE_LOGIN as the token (docs/console.md#api). */
export const CONSOLE = {
  /** A one-time code, and the path that uses it. */
  codes: post('/api/codes', z.object({ code: text, path: text, expires_at: text })),
  /** Makes the read model anew; `reaches_back_to` is the oldest event of a task that the streams still have. */
  rebuild: post('/api/rebuild', z.object({ rebuilt_at: text, reaches_back_to: text.nullable() })),
  /** The highest head that the console ever saw of each file of an audit. */
  auditHeads: get('/api/audit/heads', z.object({ heads: z.array(SeenHead.extend({ at: text })) })),
};
