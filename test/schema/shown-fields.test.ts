/** What the mirror shows of a field that write-backs set and that has no column. */

import { expect, test } from 'vitest'
import { shownSql } from '../../schema/operation-specs.ts'
import { openMirror } from '../../src/app/facts.ts'
import { visitors } from '../../src/mirror/core/streams.ts'
import { databases } from '../support/databases.ts'
import { stored } from '../support/stored-items.ts'

const id = '9f8e7d6c-aaaa-4bbb-8ccc-ddddeeeeffff'

test.each(databases)(
  'a field without a column is read from the row as it came: $name',
  async (database) => {
    const { open, drop } = await database.make()
    const warehouse = await open()
    const { rows } = visitors.parseRows(
      [stored({ id, projectId: id, name: 'Vi', phone: '+49 30 "1"' })],
      id,
    )
    await openMirror(warehouse, id as never).commit({
      stream: 'visitors',
      rows,
      requestedAt: Date.now(),
    })
    const shown = (shownAs: string) =>
      shownSql(warehouse.kind, { target: 'visitor', shownAs }, 'visitors.')
    const found = await warehouse.query(
      `select ${shown('phone')} as phone, ${shown('fax')} as fax from visitors`,
    )
    expect(found).toEqual([{ phone: '+49 30 "1"', fax: null }])
    await warehouse.close()
    await drop()
  },
)
