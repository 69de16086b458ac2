import { once } from 'node:events';
import { createConnection, createServer, type Server, type Socket } from 'node:net';

interface Address {
  readonly host: string;
  readonly port: number;
}

export interface RouteLinks {
  /** Stops all traffic between the two groups of servers, without closing a connection, as a network would. */
  partition(left: readonly string[], right: readonly string[]): void;
  /** Lets traffic through again. The connections of the partition are closed: their bytes are lost. */
  heal(): void;
}

interface Link {
  readonly to: string;
  /** The server that opened the connection; known from its first message. */
  from: string | undefined;
  readonly sockets: readonly Socket[];
  wasCut: boolean;
}

/** Proxies in front of the route ports of servers, which tell by the first message of a route which server opened it. */
export async function startRouteLinks(
  t: { after(fn: () => Promise<void>): void },
  ends: readonly { readonly name: string; readonly door: Address; readonly target: Address }[],
): Promise<RouteLinks> {
  const links = new Set<Link>();
  let cut: readonly (readonly string[])[] = [];
  const sideOf = (name: string | undefined): number =>
    name === undefined ? -1 : cut.findIndex((side) => side.includes(name));
  const isCut = ({ from, to }: Link): boolean => {
    const [a, b] = [sideOf(from), sideOf(to)];
    return a !== -1 && b !== -1 && a !== b;
  };

  const connected = (client: Socket, to: string, target: Address): void => {
    const upstream = createConnection({ ...target, noDelay: true });
    const link: Link = { to, from: undefined, sockets: [client, upstream], wasCut: false };
    links.add(link);
    const pipe = (source: Socket, sink: Socket): void => {
      source.on('data', (chunk) => {
        if (source === client) link.from ??= /"server_name":"([^"]+)"/.exec(chunk.toString('latin1'))?.[1];
        if (isCut(link)) link.wasCut = true;
        if (!link.wasCut) sink.write(chunk);
      });
      source.on('error', () => sink.destroy());
      source.on('close', () => {
        links.delete(link);
        sink.destroy();
      });
    };
    pipe(client, upstream);
    pipe(upstream, client);
  };

  const servers = await Promise.all(
    ends.map(async ({ name, door, target }): Promise<Server> => {
      const server = createServer({ noDelay: true }, (client) => connected(client, name, target));
      server.listen(door.port, door.host);
      await once(server, 'listening');
      return server;
    }),
  );
  t.after(async () => {
    for (const { sockets } of links) for (const socket of sockets) socket.destroy();
    await Promise.all(
      servers.map(async (server) => {
        server.close();
        await once(server, 'close');
      }),
    );
  });
  return {
    partition: (left, right) => {
      cut = [left, right];
    },
    heal: () => {
      cut = [];
      for (const { sockets, wasCut } of links) if (wasCut) for (const socket of sockets) socket.destroy();
    },
  };
}
