-- Queries of bench/star, each behind a line with its name.

-- S1 revenue of brands of one manager in a month
select i_brand_id, i_brand, sum(ss_ext_sales_price) revenue
from store_sales, date_dim, item
where ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk
	and i_manager_id = 28 and d_year = 1999 and d_moy = 12
group by i_brand_id, i_brand order by revenue desc, i_brand_id, i_brand limit 50

-- S2 discounts on items of one manufacturer in one month of all years
select d_year, i_brand, sum(ss_ext_discount_amt) discount, count(*)
from date_dim, store_sales, item
where d_date_sk = ss_sold_date_sk and ss_item_sk = i_item_sk and i_manufact_id = 427 and d_moy = 11
group by d_year, i_brand order by d_year, discount desc, i_brand limit 100

-- S3 sales of a year by store and day of the week
select s_store_name, s_store_id, d_day_name, sum(ss_sales_price), count(ss_quantity)
from store_sales, date_dim, store
where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and d_year = 1998
group by s_store_name, s_store_id, d_day_name order by 1, 2, 3

-- S4 averages of items for some customers, with promotions
select i_item_id, avg(ss_quantity), avg(ss_list_price), avg(ss_coupon_amt), avg(ss_sales_price)
from store_sales, customer_demographics, date_dim, item, promotion
where ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk and ss_cdemo_sk = cd_demo_sk
	and ss_promo_sk = p_promo_sk and cd_gender = 'F' and cd_marital_status = 'W'
	and cd_education_status = 'College' and (p_channel_email = 'N' or p_channel_event = 'N')
	and d_year = 2001
group by i_item_id order by i_item_id limit 100

-- S5 profit of a year by state and county, with subtotals
select s_state, s_county, grouping(s_state, s_county), sum(ss_net_profit)
from store_sales, date_dim, store
where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and d_month_seq between 110 and 121
group by rollup (s_state, s_county) order by 3 desc, 1, 2

-- S6 large baskets of households, with a division that may raise an error
select c_last_name, c_first_name, ss_ticket_number, n
from (select ss_ticket_number, ss_customer_sk, count(*) n
	from store_sales, date_dim, store, household_demographics
	where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_hdemo_sk = hd_demo_sk
		and d_dom between 1 and 2 and hd_buy_potential in ('Unknown', '>10000')
		and hd_vehicle_count > 0 and hd_dep_count / hd_vehicle_count > 1
		and d_year in (1999, 2000, 2001)
	group by ss_ticket_number, ss_customer_sk) baskets, customer
where ss_customer_sk = c_customer_sk and n > 12
order by n desc, c_last_name, c_first_name, ss_ticket_number

-- S7 tickets of Mondays in the larger stores
select c_last_name, c_first_name, s_city, ss_ticket_number, coupons, profit
from (select ss_ticket_number, ss_customer_sk, s_city, sum(ss_coupon_amt) coupons,
		sum(ss_net_profit) profit
	from store_sales, date_dim, store, household_demographics
	where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_hdemo_sk = hd_demo_sk
		and (hd_dep_count = 8 or hd_vehicle_count > 0) and d_dow = 1
		and d_year between 1998 and 2000 and s_number_employees between 200 and 295
	group by ss_ticket_number, ss_customer_sk, s_city) tickets, customer
where ss_customer_sk = c_customer_sk
order by profit, ss_ticket_number, c_last_name, c_first_name, s_city limit 100

-- S8 sales of a store in half an hour of the day
select count(*), sum(ss_net_paid)
from store_sales, household_demographics, time_dim, store
where ss_sold_time_sk = t_time_sk and ss_hdemo_sk = hd_demo_sk and ss_store_sk = s_store_sk
	and t_hour = 15 and t_minute >= 30 and hd_dep_count = 7 and s_store_name = 'store 2'

-- S9 customers of a quarter who have returned nothing
select c_birth_country, count(*) from customer
where exists (select from store_sales, date_dim where ss_customer_sk = c_customer_sk
		and ss_sold_date_sk = d_date_sk and d_year = 2001 and d_qoy = 1)
	and not exists (select from store_returns where sr_customer_sk = c_customer_sk)
group by c_birth_country order by 2 desc, 1 limit 20

-- S10 how long after the sale returns of a month came
select s_store_name, s_zip, sum(case when sr_returned_date_sk - ss_sold_date_sk <= 30 then 1 end),
	sum(case when sr_returned_date_sk - ss_sold_date_sk > 30 then 1 end)
from store_sales, store_returns, store, date_dim
where d_year = 2001 and d_moy = 8 and sr_returned_date_sk = d_date_sk
	and ss_ticket_number = sr_ticket_number and ss_item_sk = sr_item_sk
	and ss_customer_sk = sr_customer_sk and ss_store_sk = s_store_sk
group by s_store_name, s_zip order by 1, 2

-- S11 customers who buy on weekends in another city than they live in
select c_last_name, c_first_name, home.ca_city, bought.ca_city, ss_ticket_number, profit
from (select ss_ticket_number, ss_customer_sk, ss_addr_sk, sum(ss_net_profit) profit
	from store_sales, date_dim, store, household_demographics
	where ss_sold_date_sk = d_date_sk and ss_store_sk = s_store_sk and ss_hdemo_sk = hd_demo_sk
		and (hd_dep_count = 5 or hd_vehicle_count = 3) and d_dow in (0, 6)
		and d_year between 1999 and 2001 and s_store_sk <= 4
	group by ss_ticket_number, ss_customer_sk, ss_addr_sk) tickets,
	customer, customer_address home, customer_address bought
where ss_customer_sk = c_customer_sk and c_current_addr_sk = home.ca_address_sk
	and ss_addr_sk = bought.ca_address_sk and home.ca_city <> bought.ca_city
order by c_last_name, c_first_name, ss_ticket_number, home.ca_city limit 100

-- S12 shares of items in the revenue of their class
select i_item_id, i_class, sum(ss_ext_sales_price) revenue,
	sum(ss_ext_sales_price) * 100 / sum(sum(ss_ext_sales_price)) over (partition by i_class)
from store_sales, item, date_dim
where ss_item_sk = i_item_sk and ss_sold_date_sk = d_date_sk
	and i_category in ('Jewelry', 'Sports', 'Books')
	and d_date between date '2001-01-12' and date '2001-02-11'
group by i_item_id, i_class order by i_class, i_item_id

-- S13 best and worst items of a store
select best.place, best.ss_item_sk, worst.ss_item_sk
from (select ss_item_sk, rank() over (order by avg(ss_net_profit) desc, ss_item_sk) place
	from store_sales where ss_store_sk = 4 group by ss_item_sk) best
	join (select ss_item_sk, rank() over (order by avg(ss_net_profit), ss_item_sk) place
	from store_sales where ss_store_sk = 4 group by ss_item_sk) worst using (place)
where place <= 10 order by 1

-- S14 buckets of quantities by subqueries
select case when (select count(*) from store_sales where ss_quantity between 1 and 20) > 74129
		then (select avg(ss_ext_discount_amt) from store_sales where ss_quantity between 1 and 20)
		else (select avg(ss_net_paid) from store_sales where ss_quantity between 1 and 20) end,
	case when (select count(*) from store_sales where ss_quantity between 21 and 40) > 1228400
		then (select avg(ss_ext_discount_amt) from store_sales where ss_quantity between 21 and 40)
		else (select avg(ss_net_paid) from store_sales where ss_quantity between 21 and 40) end
from store where s_store_sk = 1

-- S15 list prices, and how many different ones
select count(ss_list_price), count(distinct ss_list_price), avg(ss_list_price)
from store_sales
where ss_quantity between 6 and 10 and (ss_list_price between 90 and 100
	or ss_coupon_amt between 2323 and 3323 or ss_wholesale_cost between 31 and 51)

-- S16 weeks of a year against those of the year before
with weeks as (
	select d_week_seq, ss_store_sk, sum(ss_sales_price) sales
	from store_sales, date_dim where ss_sold_date_sk = d_date_sk
	group by d_week_seq, ss_store_sk)
select a.ss_store_sk, a.d_week_seq, round(a.sales / b.sales, 4)
from weeks a join weeks b on a.ss_store_sk = b.ss_store_sk and a.d_week_seq = b.d_week_seq - 52
where a.d_week_seq between 150 and 200 order by 1, 2

-- S17 items that a store sells for less than a tenth of its average
with revenues as (
	select ss_store_sk, ss_item_sk, sum(ss_sales_price) revenue
	from store_sales, date_dim
	where ss_sold_date_sk = d_date_sk and d_month_seq between 115 and 126
	group by ss_store_sk, ss_item_sk)
select s_store_name, i_item_desc, revenue, i_current_price
from store, item, revenues r,
	(select ss_store_sk, avg(revenue) average from revenues group by ss_store_sk) a
where a.ss_store_sk = r.ss_store_sk and r.revenue <= 0.1 * average
	and s_store_sk = r.ss_store_sk and i_item_sk = r.ss_item_sk
order by s_store_name, i_item_desc, revenue limit 100

-- S18 best combinations of each category, with subtotals
select * from (
	select i_category, i_class, d_qoy, s_store_id, sum(ss_sales_price * ss_quantity) sales,
		rank() over (partition by i_category order by sum(ss_sales_price * ss_quantity) desc)
	from store_sales, date_dim, store, item
	where ss_sold_date_sk = d_date_sk and ss_item_sk = i_item_sk and ss_store_sk = s_store_sk
		and d_month_seq between 115 and 118
	group by rollup (i_category, i_class, d_qoy, s_store_id)) r
where rank <= 20 order by 1, 6, 2, 3, 4

-- S19 purchases of some customers
select c_customer_id, count(*), sum(ss_net_paid)
from customer, store_sales
where c_customer_sk = ss_customer_sk and c_customer_sk between 500 and 700
group by c_customer_id order by 1

-- S20 conditions on sales and dimensions together
select sum(ss_quantity) from store_sales, customer_demographics, customer_address, date_dim
where ss_sold_date_sk = d_date_sk and d_year = 2001
	and cd_demo_sk = ss_cdemo_sk and ss_addr_sk = ca_address_sk
	and ((cd_marital_status = 'W' and ss_sales_price between 100 and 150)
		or (cd_marital_status = 'S' and ss_sales_price between 50 and 100))
	and ((ca_state in ('IL', 'KY') and ss_net_profit between 0 and 2000)
		or (ca_state in ('VA', 'TX', 'MO') and ss_net_profit between 150 and 3000))
