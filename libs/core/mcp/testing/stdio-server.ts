/**
 * A small MCP server for tests, as a child process: `node stdio-server.ts <mode>`. It implements the protocol itself, so
 * that it can also violate it.
 */
import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [mode = 'answers'] = process.argv.slice(2);

interface Request {
  readonly id?: number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
    readonly _meta?: object;
  };
}

const send = (message: object): void => {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
};
const text = (content: string): object => ({ content: [{ type: 'text', text: content }] });

const tools = [
  'echo',
  'meta',
  'environment',
  'big',
  'silence',
  'child',
  'die',
  'grow',
  'fail',
  'parts',
  'detach',
  'cwd',
  'pid',
  'allocate',
  'fill',
];
/** Memory that the server keeps. */
const kept: Buffer[] = [];

function callTool(id: number, name: string | undefined, args: Record<string, unknown>): object | undefined {
  switch (name) {
    case 'echo':
      return text(JSON.stringify(args));
    case 'environment':
      return text(JSON.stringify(process.env));
    case 'cwd':
      return text(process.cwd());
    case 'pid':
      return text(String(process.pid));
    case 'big':
      return text(`first ${'x'.repeat(1_000_000)} last`);
    case 'child': {
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'inherit' });
      return text(String(child.pid));
    }
    case 'detach': {
      // A session of its own, whose parent ends at once.
      const loop = `setInterval(() => {}, 1e6, ${JSON.stringify(process.cwd())})`;
      const script = `require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(loop)}], { detached: true, stdio: 'ignore' }).unref()`;
      spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' }).on('exit', () =>
        send({ id, result: text(loop) }),
      );
      return undefined;
    }
    case 'allocate': {
      const bytes = Number(args.mb) * 2 ** 20;
      const hold = `const kept = Buffer.alloc(${bytes}, 1); setInterval(() => kept, 1e6)`;
      // The answer is out before the memory is taken.
      if (args.answers === true) send({ id, result: text('allocating') });
      if (args.in === 'child') spawn(process.execPath, ['-e', hold], { stdio: 'ignore' });
      else setImmediate(() => void kept.push(Buffer.alloc(bytes, 1)));
      return undefined;
    }
    case 'fill': {
      // 20 MiB every 200 ms, at most 2 GiB.
      let left = 100;
      const more = setInterval(() => {
        appendFileSync('fill', Buffer.alloc(20 * 2 ** 20));
        left -= 1;
        if (left === 0) clearInterval(more);
      }, 200);
      return undefined;
    }
    case 'die':
      process.exit(3);
      break;
    case 'grow':
      tools.push('grown');
      send({ method: 'notifications/tools/list_changed' });
      return text('grown');
    case 'fail':
      return { ...text('no such file'), isError: true };
    case 'parts':
      return {
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
          { type: 'resource', resource: { uri: 'file:///a', text: 'inside' } },
        ],
      };
  }
  return undefined;
}

function answer({ id, method, params }: Request): void {
  if (method === 'initialize') {
    const capabilities = { tools: { listChanged: true } };
    const serverInfo = { name: `fixture-${mode}`, version: '1.0.0' };
    send({ id, result: { protocolVersion: '2025-06-18', capabilities, serverInfo } });
    return;
  }
  if (method === 'notifications/initialized' && mode === 'dies') process.exit(7);
  if (method === 'notifications/initialized' && mode === 'asks') floodRequests();
  if (id === undefined || mode === 'hangs') return;
  if (mode === 'refuses') send({ id, error: { code: -32603, message: 'cannot read /home/me/secret' } });
  else if (method === 'ping') send({ id, result: {} });
  else if (method === 'tools/list' && mode === 'hoards') {
    const hoard = { name: `t${id}`, description: 'x'.repeat(1_000_000), inputSchema: { type: 'object' } };
    send({ id, result: { tools: [hoard], nextCursor: 'more' } });
  } else if (method === 'tools/list') {
    const listed = tools.map((name) => ({
      name,
      description: `does ${name}`,
      inputSchema: { type: 'object' },
      ...(name === 'echo' ? { annotations: { readOnlyHint: true } } : {}),
    }));
    send({ id, result: { tools: listed } });
  } else if (method === 'tools/call') {
    if (params?.name === 'unknown') send({ id, error: { code: -32602, message: 'Unknown tool: unknown' } });
    const result =
      params?.name === 'meta'
        ? text(JSON.stringify(params._meta ?? null))
        : callTool(id, params?.name, params?.arguments ?? {});
    if (result) send({ id, result });
  }
}

/** Sends requests without end and reads no answers. */
function floodRequests(): void {
  process.stdin.pause();
  const ping = `${JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(1_000), method: 'ping' })}\n`;
  const more = (): void => {
    while (process.stdout.write(ping));
    process.stdout.once('drain', more);
  };
  more();
}

function keepAlive(): void {
  setInterval(() => {}, 1e6);
}

if (mode === 'hangs') {
  process.on('SIGTERM', () => {});
  keepAlive();
}
if (mode === 'exits') process.exit(5);
if (mode === 'shouts') {
  for (let i = 0; i < 500; i += 1) process.stderr.write(`line ${i} ${'!'.repeat(5000)}\n`);
}
if (mode === 'chatty') process.stdout.write('server is starting\n');
if (mode === 'garbage') {
  process.stdout.write('Welcome to my server!\n{"almost": "json-rpc"}\n');
  keepAlive();
} else if (mode === 'flood') {
  const more = (): void => {
    while (process.stdout.write('y'.repeat(65_536)));
    process.stdout.once('drain', more);
  };
  more();
} else {
  createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line) as Request));
}
