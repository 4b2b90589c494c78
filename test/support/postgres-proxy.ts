/**
 * A proxy in front of Postgres that simulates a pooler, which gives each transaction another
 * connection of the server, or a network that breaks before the response to a commit arrives.
 */
import { connect, createServer, type Socket } from 'node:net'

export type PostgresProxyOptions = {
  /**
   * Like PgBouncer with `pool_mode = transaction`. `options`: what it does with settings in the
   * startup message.
   */
  readonly pool?: { readonly options: 'refused' | 'ignored' }
  /**
   * Called at each commit with the statements of its transaction: whether its response and the
   * connection are lost.
   */
  readonly shouldLoseCommit?: (statements: readonly string[]) => boolean
}

export type PostgresProxy = { readonly url: string; readonly stop: () => Promise<void> }

type Backend = { readonly socket: Socket; onMessage: (message: Buffer) => void }

export async function startPostgresProxy(
  url: string,
  options: PostgresProxyOptions,
): Promise<PostgresProxy> {
  const [target, proxyUrl] = [new URL(url), new URL(url)]
  const sockets = new Set<Socket>()
  const idle: Backend[] = []
  const track = (socket: Socket) => {
    sockets.add(socket)
    // Otherwise each message would wait for the acknowledgement of the one before.
    return socket
      .setNoDelay(true)
      .on('error', () => {})
      .once('close', () => sockets.delete(socket))
  }
  const connectToServer = () => track(connect(Number(target.port), target.hostname))
  const server = createServer((client) =>
    serve(track(client), { ...options, connectToServer, idle }),
  )
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has no port')
  Object.assign(proxyUrl, { hostname: '127.0.0.1', port: String(address.port) })
  return {
    url: proxyUrl.href,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((closed) => server.close(closed))
    },
  }
}

type ConnectionOptions = PostgresProxyOptions & {
  readonly connectToServer: () => Socket
  readonly idle: Backend[]
}

function serve(
  client: Socket,
  { pool, shouldLoseCommit, connectToServer, idle }: ConnectionOptions,
): void {
  const trackStatements = trackTransaction()
  let backend: Backend | null = null
  let isStarted = false
  let isLosing = false
  const sendToServer = (data: Buffer) => {
    backend ??= forwardAnswers(idle.shift() ?? fail('no connection of the server is idle'))
    backend.socket.write(data)
  }
  const forwardAnswers = (connection: Backend): Backend => {
    connection.onMessage = (message) => {
      const isReady = message[0] === code('Z')
      if (isLosing && isReady) return dropConnections(connection)
      if (!isLosing)
        client.write(
          isStarted || message[0] !== code('K') || pool === undefined
            ? message
            : withPoolerNumber(message),
        )
      if (!isReady) return
      isStarted = true
      // No transaction is open: the next one gets the connection that has been idle longest, never
      // this one.
      if (pool !== undefined && message[5] === code('I')) {
        backend = null
        idle.push(connection)
      }
    }
    return connection
  }
  const dropConnections = (connection: Backend) => {
    client.destroy()
    connection.socket.destroy()
  }
  client.once('data', (startup) => {
    if (pool?.options === 'refused' && startup.includes('options\0'))
      return client.end(optionsRejection())
    const socket = connectToServer()
    const connection: Backend = { socket, onMessage: () => {} }
    backend = forwardAnswers(connection)
    socket.on(
      'data',
      splitMessages((message) => connection.onMessage(message)),
    )
    socket.once('close', () => {
      const at = idle.indexOf(connection)
      if (at >= 0) idle.splice(at, 1)
      else client.destroy()
    })
    socket.write(pool === undefined ? startup : withoutOptions(startup))
    // Forwards all later messages, including passwords.
    client.on(
      'data',
      splitMessages((message) => {
        if (message[0] === code('X')) return client.end()
        const statements = trackStatements(message)
        if (statements !== null && shouldLoseCommit?.(statements)) isLosing = true
        sendToServer(message)
      }),
    )
    client.once('close', () => {
      // The server rolls back an open transaction.
      backend?.socket.destroy()
    })
  })
}

/** Tracks a client's statements; at a commit it returns the statements of the transaction. */
function trackTransaction(): (message: Buffer) => readonly string[] | null {
  const prepared = new Map<string, string>()
  let statements: string[] = []
  const record = (text: string) => {
    if (/^begin/i.test(text)) statements = []
    statements.push(text)
    return /^commit/i.test(text) ? statements : null
  }
  return (message) => {
    const texts = message.subarray(5).toString().split('\0')
    const [first = '', second = ''] = texts
    if (message[0] === code('Q')) return record(first)
    if (message[0] === code('P')) prepared.set(first, second)
    return message[0] === code('B') ? record(prepared.get(second) ?? '') : null
  }
}

/** Splits a byte stream into messages: a letter, a length that includes itself, and the content. */
function splitMessages(onMessage: (message: Buffer) => void): (data: Buffer) => void {
  let buffered = Buffer.alloc(0)
  return (data) => {
    buffered = Buffer.concat([buffered, data])
    for (;;) {
      const length = buffered.length < 5 ? Number.POSITIVE_INFINITY : 1 + buffered.readUInt32BE(1)
      if (buffered.length < length) return
      const message = buffered.subarray(0, length)
      buffered = buffered.subarray(length)
      onMessage(message)
    }
  }
}

function withoutOptions(startup: Buffer): Buffer {
  const pairs = startup.subarray(8).toString().split('\0')
  const kept: string[] = []
  for (let i = 0; i + 1 < pairs.length && pairs[i] !== ''; i += 2) {
    if (pairs[i] !== 'options') kept.push(pairs[i] ?? '', pairs[i + 1] ?? '')
  }
  const body = Buffer.from(`${kept.join('\0')}\0\0`)
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeUInt32BE(8 + body.length)
  return Buffer.concat([head, body])
}

/** A pooler tells its clients a process id of its own. */
function withPoolerNumber(message: Buffer): Buffer {
  const changed = Buffer.from(message)
  changed.writeUInt32BE(0x7f_00_00_00 + Math.floor(Math.random() * 1000), 5)
  return changed
}

function optionsRejection(): Buffer {
  const fields = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0')
  const head = Buffer.from('E\0\0\0\0')
  head.writeUInt32BE(4 + fields.length, 1)
  return Buffer.concat([head, fields])
}

function code(letter: string): number {
  return letter.charCodeAt(0)
}

function fail(why: string): never {
  throw new Error(why)
}
