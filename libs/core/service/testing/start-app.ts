import { connect } from 'node:net';
import type { TestContext } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import type { FastifyInstance } from 'fastify';
import { createAuthenticator } from '../src/auth.ts';
import { type AppOptions, createApp } from '../src/http/app.ts';
import { createLogger } from '../src/logger.ts';
import { createMetrics, type FleetMetrics } from '../src/metrics/metrics.ts';

export const TOKEN = 'switch-token-0123456789';
export const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };
export const JSON_TYPE = { 'content-type': 'application/json' };

/** The lines that a logger wrote. */
export interface LogLines {
  readonly lines: JsonObject[];
  /** Resolves with the first line, past or future, that matches. */
  find(matches: (line: JsonObject) => boolean): Promise<JsonObject>;
}

export interface TestApp {
  readonly app: FastifyInstance;
  readonly url: string;
  readonly port: number;
  readonly logs: LogLines;
  readonly metrics: FleetMetrics;
}

export function captureLogs(): LogLines & { write(text: string): void } {
  const lines: JsonObject[] = [];
  const waiting = new Set<() => void>();
  return {
    lines,
    write(text) {
      const line: unknown = JSON.parse(text);
      if (isJsonObject(line)) lines.push(line);
      for (const look of [...waiting]) look();
    },
    find(matches) {
      return new Promise((resolve) => {
        const look = (): void => {
          const line = lines.find(matches);
          if (line === undefined) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
        look();
      });
    },
  };
}

/** A real app on a free loopback port, closed with the test. */
export async function startApp(
  t: TestContext,
  { routes, ...overrides }: Partial<AppOptions> & { routes?: (app: FastifyInstance) => void } = {},
): Promise<TestApp> {
  const logs = captureLogs();
  const metrics = createMetrics({
    profile: 'neo',
    peers: ['switch'],
    callers: ['switch'],
    defaultMetrics: false,
  });
  const app = createApp({
    name: 'neo',
    version: '1.2.3',
    log: createLogger({ name: 'neo', level: 'debug', pretty: false, stream: logs }),
    authenticate: createAuthenticator([{ name: 'switch', scopes: ['dispatch'], secret: TOKEN }]),
    metrics,
    readiness: () => ({ ready: true, dependencies: {} }),
    ...overrides,
  });
  routes?.(app);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  t.after(() => app.close());
  return { app, url, port: Number(new URL(url).port), logs, metrics };
}

/**
 * Sends bytes over a plain socket; resolves with the response when the server closes it or the response ends in
 * `until`.
 */
export function exchange(port: number, bytes: string, until?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.setEncoding('utf8');
    socket.on('data', (text) => {
      received += text;
      if (until !== undefined && received.endsWith(until)) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
}

/** The status line and the JSON body of a raw HTTP reply. */
export function parseReply(text: string): { status: number; headers: string; body: unknown } {
  const [head = '', body = ''] = text.split('\r\n\r\n', 2);
  return { status: Number(head.split(' ')[1]), headers: head.toLowerCase(), body: JSON.parse(body) };
}
