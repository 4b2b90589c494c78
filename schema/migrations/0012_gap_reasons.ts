/** Rewords the reasons of gaps. Where the reason identifies a gap, an open one stays the same gap. */
import type { Run } from '../create-missing.ts'

const moreRows = 'the service says that there is more'

const rewordings = [
  [`${moreRows}, and no parameter leads there`, 'the service reports more rows, but no request parameter reaches them'],
  [`${moreRows}, and shows none of it`, 'the service reports more rows, but the page is empty'],
  [
    'the rows follow no time that they show, so that pages may not join',
    'the rows are not sorted by any of their times, so rows between pages may be missing',
  ],
  [
    'a page shows no row of the one before it, so that rows between them may be missing',
    'a page does not overlap the previous one, so rows between them may be missing',
  ],
]

export async function rewordGapReasons(run: Run): Promise<void> {
  for (const [before, now] of rewordings)
    await run(`
      update sync_gaps set reason = replace(reason, '${before}', '${now}'), subject = replace(subject, '${before}', '${now}')
      where reason like '%${before}%'`)
}
