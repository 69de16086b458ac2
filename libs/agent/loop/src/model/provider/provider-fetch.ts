import { createClient } from '@hermes-fleet/net';
import { boundedAnswerFetch } from './bounded-answer.ts';

interface Deadlines {
  readonly firstTokenMs: number;
  readonly idleMs: number;
}

/** The deadlines of an answer, which count its parts, are reached before that of the connection, which counts bytes. */
const MARGIN_MS = 10_000;

/** A `fetch` for the calls of a provider, with bounded answers (`boundedAnswerFetch`). A redirect is a RedirectError. */
export const providerFetch = ({ firstTokenMs, idleMs }: Deadlines): typeof fetch =>
  boundedAnswerFetch(createClient('configured', { silenceMs: Math.max(firstTokenMs, idleMs) + MARGIN_MS }));
