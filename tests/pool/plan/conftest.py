from tests.pool.plan.made import made_up as made_up
