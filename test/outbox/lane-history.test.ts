/** The conversation that `expect` of a note or a correction refers to. */
import { expect, test } from 'vitest'
import { openMirror } from '../../src/app/facts.ts'
import { createOutbox } from '../../src/outbox/sql/outbox.ts'
import { databases } from '../support/databases.ts'
import { commitRows, conversation, idOf, message, timeAt } from '../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../warehouse/test-warehouse.ts'

const visitor = 'aaaaaaaa-0000-4000-8000-00000000000a'
const other = 'bbbbbbbb-0000-4000-8000-00000000000b'
/** JavaScript has no such number. */
const largeId = 2n ** 62n + 1n

for (const database of databases)
  test(`is the one with that message, else the latest one — ${database.name}`, async () => {
    const { warehouse } = await openTestWarehouse(database)
    const [old, latest, deleted, ofOther] = [1, 2, 3, 4].map(idOf)
    const of = (visitor_id: string, at: number) => ({ visitor_id, last_message_at: timeAt(at) })
    await commitRows(openMirror(warehouse, 'main'), {
      conversations: [
        conversation(old!, of(visitor, 10)),
        conversation(latest!, of(visitor, 20)),
        conversation(deleted!, of(visitor, 30)),
        conversation(ofOther!, of(other.toUpperCase(), 40)),
      ],
      messages: [message(old!, largeId), message(deleted!, 7), message(ofOther!, 8)],
    })
    await warehouse.query(
      `update conversations set deleted_at = '${timeAt(50)}' where id = '${deleted}'`,
    )
    const { findConversations } = createOutbox(warehouse.projectDb('main'))
    const sought = [
      { visitor, messageId: null },
      { visitor, messageId: String(largeId) },
      { visitor, messageId: String(largeId - 1n) },
      { visitor: visitor.toUpperCase(), messageId: '8' },
      { visitor, messageId: '7' },
      { visitor: other, messageId: null },
      { visitor: idOf(9), messageId: null },
    ]
    expect(await findConversations(sought)).toEqual([
      latest,
      old,
      latest,
      latest,
      latest,
      ofOther,
      null,
    ])
    expect(await findConversations([])).toEqual([])
  })
