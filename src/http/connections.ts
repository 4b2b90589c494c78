/**
 * Which connections are kept: those that are being answered, and of the others those whose clients sent something last. So
 * clients that send nothing, or a byte now and then, keep nobody out.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Ms } from '../core/time.ts'

/** The clients are probes, Prometheus, a person, and webhook senders, many of them behind a proxy. */
export const maxConnections = 256
/** Beyond these, where all of them are being answered: only liveness is. */
const livenessConnections = 16
/** What a body must bring in each period: no body is larger but an imported file, which may take longer. */
const minProgressBytes = 64 * 1024

/** Returns whether there are too many requests at this moment for any but one about liveness. `timeoutMs`: for a body. */
export function limitConnections(server: Server, timeoutMs: Ms): () => boolean {
  const all = new Set<Socket>()
  /** Those whose clients have to send something: the longest first. */
  const waiting = new Set<Socket>()
  const moveToEnd = (socket: Socket) => {
    waiting.delete(socket)
    if (all.has(socket)) waiting.add(socket)
  }
  const forget = (socket: Socket) => {
    all.delete(socket)
    waiting.delete(socket)
  }
  server.maxConnections = maxConnections + livenessConnections
  server.on('connection', (socket: Socket) => {
    const [longest] = waiting
    if (all.size >= maxConnections && longest !== undefined) {
      forget(longest)
      longest.destroy()
    }
    all.add(socket)
    waiting.add(socket)
    socket.once('close', () => forget(socket))
  })
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    response.once('close', () => moveToEnd(socket))
    if (!hasBody(request)) return void waiting.delete(socket)
    moveToEnd(socket)
    request.once('end', () => {
      if (!response.writableFinished) waiting.delete(socket)
    })
    watchBody(request, response, timeoutMs, () => moveToEnd(socket))
  })
  return () => all.size - waiting.size > maxConnections
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Ends the connection if the body neither ends nor comes on. Node.js itself knows only a limit for all of it. */
function watchBody(request: IncomingMessage, response: ServerResponse, timeoutMs: Ms, onProgress: () => void): void {
  const { socket } = request
  let received = socket.bytesRead
  const timer = setInterval(() => {
    // What has arrived and is not taken yet is not the client's delay.
    const isMoving = socket.bytesRead - received >= minProgressBytes || request.readableLength > 0
    if (!isMoving || response.writableFinished) return socket.destroy()
    received = socket.bytesRead
    onProgress()
  }, timeoutMs)
  request.once('close', () => clearInterval(timer))
}
