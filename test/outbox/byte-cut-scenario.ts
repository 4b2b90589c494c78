/**
 * Sends one write-back for each byte of the request and of the response at which the connection can
 * break.
 */
import { expect } from 'vitest'
import { type Cut, startByteCutter } from './byte-cutter.ts'
import { createOutboxFixture, performedWrites, type RequestLine } from './outbox-fixture.ts'

export const operationNames = ['message', 'handled', 'visitor', 'note'] as const
type OperationName = (typeof operationNames)[number]

const serviceOperations = {
  message: 'sendMessage',
  handled: 'setHandled',
  visitor: 'updateVisitor',
  note: 'addNote',
} as const

/** `every`: 1 = at each byte. */
export async function cutEverywhere(kind: OperationName, every: number): Promise<void> {
  // An uncertain write-back blocks its lane, so each has its own lane.
  const fixture = await createOutboxFixture({
    mirrored: false,
    size: { conversations: 1300, visitors: 1300, calls: 0 },
  })
  const [conversations, visitors] = [fixture.conversations(), fixture.visitors()]
  const cutter = await startByteCutter(fixture.sandbox.port)
  const project = {
    baseUrl: new URL(`http://127.0.0.1:${cutter.port}`),
    verifyAfterMs: 50,
    despiteFailures: true,
  }
  const lines: Readonly<Record<OperationName, (n: number) => RequestLine>> = {
    message: (n) => ({
      operation: 'message',
      conversation_id: conversations[n],
      content: `Cut ${n}`,
      sender_name: 'Ann',
    }),
    handled: (n) => ({ operation: 'handled', conversation_id: conversations[n], handled: true }),
    visitor: (n) => ({ operation: 'visitor', visitor_id: visitors[n], name: `Cut ${n}` }),
    note: (n) => ({ operation: 'note', visitor_id: visitors[n], content: `Cut ${n}` }),
  }
  await fixture.queue(lines[kind](1299))
  await fixture.push(project)
  const [whole] = cutter.passed
  const at = (side: Cut['side']) =>
    Array.from(
      { length: Math.floor(whole![side] / every) + 1 },
      (_, n): Cut => ({ side, after: n * every }),
    )
  const cuts = [
    ...at('request'),
    ...at('answer'),
    { side: 'answer', after: whole!.answer } as const,
  ]
  cutter.cuts.push(...cuts)
  await fixture.queue(...cuts.map((_, n) => lines[kind](n)))
  await fixture.push(project)

  const arrived = Map.groupBy(
    performedWrites(fixture.sandbox, serviceOperations[kind]),
    ({ params }) => params.conversationId ?? params.visitorId,
  )
  for (const entry of await fixture.all()) {
    const times = arrived.get(entry.conversationId ?? entry.visitorId!)?.length ?? 0
    const what = `${kind} ${JSON.stringify(entry.payload)}, ${entry.status}: ${entry.reason}`
    if (kind === 'note') expect(['succeeded', 'uncertain'], what).toContain(entry.status)
    else expect(entry.status, what).toBe('succeeded')
    if (entry.status === 'succeeded') expect(times, what).toBeGreaterThan(0)
    if (kind === 'message' || kind === 'note') expect(times, what).toBeLessThanOrEqual(1)
  }
  expect(cutter.cuts).toHaveLength(0)
}
