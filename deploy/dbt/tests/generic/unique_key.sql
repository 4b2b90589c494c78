{# Fails for each key that occurs in more than one row. #}
{% test unique_key(model, columns) %}
select {{ columns | join(', ') }}, count(*) as rows_found
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
