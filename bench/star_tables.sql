-- Dimensions of bench/star for the store_sales of the schema that the search path names, and
-- returns of these sales; psql's variable am is the access method.
set default_table_access_method = :am;
select setseed(0.3) \g /dev/null
create table date_dim as
	select 2450086 + i as d_date_sk, d as d_date, extract(year from d)::int d_year,
		extract(quarter from d)::int d_qoy, extract(month from d)::int d_moy,
		extract(day from d)::int d_dom, extract(dow from d)::int d_dow,
		((extract(year from d) - 1990) * 12 + extract(month from d))::int d_month_seq,
		i / 7 d_week_seq, to_char(d, 'FMDay') d_day_name
	from (select i, date '1996-01-03' + i as d from generate_series(0, 7300) i) x;
create table time_dim as
	select i t_time_sk, i / 3600 t_hour, i / 60 % 60 t_minute, i % 60 t_second
	from generate_series(0, 86399) i;
create table item as
	select i i_item_sk, 'ITEM' || lpad(to_hex(i), 12, '0') i_item_id, md5(i::text) i_item_desc,
		(random() * 100)::numeric(7,2) i_current_price, (random() * 1000)::int i_brand_id,
		'brand #' || (random() * 700)::int i_brand, 'class ' || (random() * 100)::int i_class,
		(array['Books', 'Home', 'Electronics', 'Jewelry', 'Music', 'Shoes', 'Sports', 'Women',
			'Men', 'Children'])[1 + (random() * 9)::int] i_category,
		(random() * 1000)::int i_manufact_id, (random() * 100)::int i_manager_id
	from generate_series(1, 18000) i;
create table customer as
	select i c_customer_sk, 'CUST' || lpad(to_hex(i), 12, '0') c_customer_id,
		1 + (random() * 49999)::int c_current_addr_sk,
		'First' || (random() * 3000)::int c_first_name,
		'Last' || (random() * 4000)::int c_last_name,
		'COUNTRY ' || (random() * 200)::int c_birth_country
	from generate_series(1, 100000) i;
create table customer_address as
	select i ca_address_sk, (array['TX', 'CA', 'NY', 'GA', 'OH', 'IL', 'VA', 'MO', 'TN', 'KY', 'IN',
			'WI'])[1 + (random() * 11)::int] ca_state, 'City ' || (random() * 700)::int ca_city,
		lpad((random() * 99999)::int::text, 5, '0') ca_zip
	from generate_series(1, 50000) i;
create table customer_demographics as
	select i cd_demo_sk, (array['M', 'F'])[1 + i % 2] cd_gender,
		(array['M', 'S', 'D', 'W', 'U'])[1 + i / 2 % 5] cd_marital_status,
		(array['Primary', 'Secondary', 'College', '2 yr Degree', '4 yr Degree', 'Advanced Degree',
			'Unknown'])[1 + i / 10 % 7] cd_education_status
	from generate_series(1, 1920800) i;
create table household_demographics as
	select i hd_demo_sk, (array['>10000', '5001-10000', '1001-5000', '501-1000', '0-500',
			'Unknown'])[1 + i % 6] hd_buy_potential, i / 6 % 10 hd_dep_count,
		i / 60 % 6 - 1 hd_vehicle_count
	from generate_series(1, 7200) i;
create table store as
	select i s_store_sk, 'STORE' || i s_store_id, 'store ' || i % 7 s_store_name,
		200 + i * 3 s_number_employees, (array['TN', 'GA', 'CA'])[1 + i % 3] s_state,
		'County ' || i % 4 s_county, 'City ' || i s_city, lpad((i * 733)::text, 5, '0') s_zip
	from generate_series(1, 12) i;
create table promotion as
	select i p_promo_sk, (array['N', 'Y'])[1 + i % 2] p_channel_email,
		(array['N', 'Y'])[1 + i % 3 / 2] p_channel_event
	from generate_series(1, 300) i;
create table store_returns as
	select ss_sold_date_sk + 1 + hashint8(ss_ticket_number) % 30 + 30 sr_returned_date_sk,
		ss_item_sk sr_item_sk, ss_customer_sk sr_customer_sk, ss_ticket_number sr_ticket_number,
		ss_quantity sr_return_quantity, ss_net_paid sr_return_amt
	from store_sales where hashint4(ss_item_sk + ss_ticket_number::int) % 10 = 0;
set maintenance_work_mem = '256MB';
alter table date_dim add primary key (d_date_sk);
alter table time_dim add primary key (t_time_sk);
alter table item add primary key (i_item_sk);
alter table customer add primary key (c_customer_sk);
alter table customer_address add primary key (ca_address_sk);
alter table customer_demographics add primary key (cd_demo_sk);
alter table household_demographics add primary key (hd_demo_sk);
alter table store add primary key (s_store_sk);
alter table promotion add primary key (p_promo_sk);
alter table store_sales add primary key (ss_item_sk, ss_ticket_number);
alter table store_returns add primary key (sr_item_sk, sr_ticket_number);
create index on store_sales (ss_sold_date_sk);
create index on store_sales (ss_customer_sk);
create index on store_returns (sr_returned_date_sk);
create index on store_returns (sr_customer_sk);
vacuum (analyze) date_dim, time_dim, item, customer, customer_address, customer_demographics,
	household_demographics, store, promotion, store_sales, store_returns;
